#!/usr/bin/env python3
"""Runs prefill and decode of one model with refrain and with llama.cpp and prints how many times faster we are.

    ./dev model smollm2-135m && ./dev bench engine
    python3 tests/bench/against_llama_cpp.py [MODEL.gguf] [ROUNDS]

llama-bench is built from the source that PyPI's llama-cpp-python holds, with CMake's Release and all that this CPU has,
in build/llama_cpp; where that fails the benchmark is left out with a message. Its BF16 model is made from MODEL by its
own llama-quantize. The programs take turns, one thread each, for ROUNDS (5) rounds; medians are shown. All figures are
CPU time: ours of the thread, theirs of the process, the difference of a run with 4 repetitions and one with a single one,
which leaves loading and warming up out.
"""
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "build", "llama_cpp")
BENCH = os.path.join(ROOT, "build", "release", "tests", "bench", "bench")
PACKAGE = "llama-cpp-python==0.3.36"
REPETITIONS = 3
PROMPT, DECODED = 512, 128


def build():
    """Paths of llama-bench and llama-quantize."""
    programs = [os.path.join(FOLDER, "build", "bin", name) for name in ("llama-bench", "llama-quantize")]
    if all(os.path.exists(each) for each in programs):
        return programs
    print(f"building llama.cpp of {PACKAGE} (the first time takes some minutes)", file=sys.stderr)
    os.makedirs(FOLDER, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest",
                    FOLDER, PACKAGE], check=True)
    with tarfile.open(glob.glob(os.path.join(FOLDER, "*.tar.gz"))[0]) as archive:
        archive.extractall(FOLDER)
    source = glob.glob(os.path.join(FOLDER, "*", "vendor", "llama.cpp"))[0]
    subprocess.run(["cmake", "-S", source, "-B", os.path.join(FOLDER, "build"), "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=ON", "-DLLAMA_BUILD_TESTS=OFF",
                    "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", os.path.join(FOLDER, "build"), "--target", "llama-bench", "llama-quantize"],
                   check=True, stdout=subprocess.DEVNULL)
    return programs


def bf16_of(quantize, model):
    path = os.path.join(FOLDER, "bf16.gguf")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(model):
        subprocess.run([quantize, "--allow-requantize", model, path, "BF16"], check=True, capture_output=True)
    return path


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(program, model, prompt, decoded):
    """Tokens per CPU second."""
    command = [program, "-m", model, "-t", "1", "-p", str(prompt), "-n", str(decoded), "-ngl", "0", "-r"]
    seconds = cpu_seconds(command + [str(1 + REPETITIONS)]) - cpu_seconds(command + ["1"])
    return REPETITIONS * (prompt + decoded) / seconds


def ours(model, precisions):
    """[pp512, tg128, suffix] by precision."""
    text = subprocess.run([BENCH, "engine", model, *precisions], check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^(\w+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    return {name: [float(each) for each in figures] for name, *figures in rows}


def main():
    words = sys.argv[1:]
    model = words[0] if words else os.path.join(ROOT, "build", "models", "smollm2-135m.gguf")
    rounds = int(words[1]) if len(words) > 1 else 5
    if not os.path.exists(BENCH):
        sys.exit(f"{BENCH} is not built; run ./dev bench engine")
    if not os.path.exists(model):
        sys.exit(f"{model} is absent; run ./dev model smollm2-135m")
    try:
        bench, quantize = build()
        bf16 = bf16_of(quantize, model)
    except (OSError, IndexError, subprocess.CalledProcessError) as failure:
        print(f"left out: llama.cpp cannot be built here ({failure})")
        return
    figures = {}
    for number in range(1, rounds + 1):
        measured = {"llama.cpp BF16": [theirs(bench, bf16, PROMPT, 0), theirs(bench, bf16, 0, DECODED)],
                    "llama.cpp as given": [theirs(bench, model, PROMPT, 0), theirs(bench, model, 0, DECODED)],
                    **ours(model, ("fp32_fast", "bf16", "int8"))}
        for name, row in measured.items():
            figures.setdefault(name, []).append(row)
        print(f"round {number} of {rounds} done", file=sys.stderr, flush=True)
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in figures.items()}
    print(f"{os.path.basename(model)}, one thread, tokens per CPU second, medians of {rounds} rounds in turn")
    print(f"{'':<20} {'pp512':>8} {'tg128':>8} {'64 on 448 by 512':>17}")
    for name, row in medians.items():
        print(f"{name:<20} {row[0]:>8.1f} {row[1]:>8.1f} {format(row[2], '.3f') if len(row) > 2 else '':>17}")
    given, fast = medians["llama.cpp as given"], "int8" if "int8" in medians else "fp32_fast"
    print(f"prefill, {fast} by its BF16:  {medians[fast][0] / medians['llama.cpp BF16'][0]:.2f} times")
    print(f"decode, {fast} by its {os.path.basename(model)}: {medians[fast][1] / given[1]:.2f} times")


main()
