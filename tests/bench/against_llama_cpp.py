#!/usr/bin/env python3
"""Runs prefill and decode of one model with refrain and with llama.cpp and prints how many times faster we are.

    ./dev model smollm2-135m && ./dev bench engine
    python3 tests/bench/against_llama_cpp.py [MODEL.gguf] [ROUNDS]

llama-bench is built from the source that PyPI's llama-cpp-python holds, with CMake's Release and all that this CPU has,
in build/llama_cpp; where that fails the benchmark is left out with a message. Its BF16 model is made from MODEL by its
own llama-quantize. The programs take turns, one thread each, for ROUNDS (5) rounds; medians are shown. All figures are
CPU time: ours of the thread, theirs of the process, the difference of a run with 3 repetitions and one with a single one,
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
REPETITIONS = 2
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


def ours(model):
    """Our fastest precision on this CPU, and its pp512, tg128 and suffix."""
    for name in ("int8", "fp32_fast"):
        text = subprocess.run([BENCH, "engine", model, name], check=True, capture_output=True, text=True).stdout
        row = re.search(rf"^{name} +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
        if row:
            return name, [float(each) for each in row.groups()]
    sys.exit(f"{BENCH} printed no figures")


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
    rows = []
    for number in range(1, rounds + 1):
        prefill, decode = theirs(bench, bf16, PROMPT, 0), theirs(bench, model, 0, DECODED)
        name, figures = ours(model)
        rows.append([prefill, figures[0], decode, figures[1], figures[2]])
        print(f"round {number} of {rounds}: " + " ".join(f"{each:.5g}" for each in rows[-1]), file=sys.stderr, flush=True)
    prefill, our_prefill, decode, our_decode, suffix = (statistics.median(column) for column in zip(*rows))
    print(f"{os.path.basename(model)}, one thread, tokens per CPU second, medians of {rounds} rounds in turn")
    print(f"prefill of {PROMPT}: llama.cpp in BF16 {prefill:.0f}, refrain in {name} {our_prefill:.0f}: "
          f"{our_prefill / prefill:.2f} times")
    print(f"decode of {DECODED}: llama.cpp as given {decode:.0f}, refrain in {name} {our_decode:.0f}: "
          f"{our_decode / decode:.2f} times")
    print(f"64 tokens on 448 cached: {suffix:.3f} of the time of all 512")

main()
