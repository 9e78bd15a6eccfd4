#!/usr/bin/env python3
"""Replays one Zipf trace with refrain and with libCacheSim and prints how many times faster we are.

    python3 tests/bench/against_libcachesim.py [REFRAIN] [ACCESSES]

REFRAIN is build/release/scenarios/refrain unless given. libCacheSim comes from PyPI into a virtual
environment beside the build; where that fails the benchmark is left out with a message. Both sides
are CPU seconds in one process each, the best of three, alternating: ours of the loop from 64-bit
keys with the map included, libCacheSim's of process_trace, which reads its records from a mapped
file. Misses are compared too; S3-FIFO and GDSF of the package's 0.3.5 follow other rules than the
version whose counts tests/truth holds.
"""
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, "build", "libcachesim")
TRACE = os.path.join(VENV, "zipf-%d.bin")
POLICIES = {"lru": "LRU", "fifo": "FIFO", "sieve": "Sieve", "s3fifo": "S3FIFO", "arc": "ARC",
            "lfu": "LFU", "gdsf": "GDSF", "two_q": "TwoQ"}


def install():
    """Re-runs this script inside the environment, which is made when it is not there."""
    python = os.path.join(VENV, "bin", "python")
    if sys.prefix == VENV:
        return
    try:
        if not os.path.exists(os.path.join(VENV, "ready")):
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "libcachesim"], check=True)
            open(os.path.join(VENV, "ready"), "w").close()
    except (OSError, subprocess.CalledProcessError) as failure:
        print(f"left out: libCacheSim cannot be installed here ({failure})")
        sys.exit(0)
    os.execv(python, [python] + sys.argv)


def write_trace(path, accesses, objects):
    """The trace of tests/zipf.hpp as 24-byte records; next accesses are not filled in."""
    import numpy

    def mix(x):
        x = x + numpy.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return x ^ (x >> numpy.uint64(31))

    with numpy.errstate(over="ignore"):
        index = numpy.arange(accesses, dtype=numpy.uint64)
        draws = mix(numpy.uint64(42) + (index + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15))
        cdf = numpy.cumsum(1.0 / numpy.arange(1, objects + 1))
        at = numpy.searchsorted(cdf, (draws >> numpy.uint64(11)) * 2.0**-53 * cdf[-1], side="right")
        keys = mix(numpy.minimum(at, objects - 1).astype(numpy.uint64) + numpy.uint64(1))
    rows = numpy.zeros(accesses, dtype=[("time", "<u4"), ("key", "<u8"), ("size", "<u4"),
                                        ("next", "<i8")])
    rows["time"] = index // 1000
    rows["key"] = keys
    rows["size"] = 1
    rows["next"] = -1
    rows.tofile(path)


def theirs(path, name, capacity):
    """CPU seconds and miss ratio."""
    import libcachesim as lib

    reader = lib.TraceReader(
        trace=path, trace_type=lib.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=lib.ReaderInitParam(ignore_obj_size=True))
    cache = getattr(lib, name)(capacity)
    begin = time.process_time()
    ratio = cache.process_trace(reader)[0]
    return time.process_time() - begin, ratio


def ours(program, path, policy, capacity):
    done = subprocess.run(
        [program, "replay", "--trace", "oracle_general:" + path, "--policy", policy, "--capacity",
         str(capacity), "--no-bounds", "--json"], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)[0]
    return result["seconds"], result["misses"]


def main():
    install()
    program = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        ROOT, "build", "release", "scenarios", "refrain")
    accesses = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    path = TRACE % accesses
    if not os.path.exists(path):
        write_trace(path, accesses, accesses // 10)
    print(f"{accesses:,} accesses, Zipf 1.0 over {accesses // 10:,} objects, seed 42")
    print(f"{'policy':<8} {'capacity':>9} {'ours M/s':>9} {'theirs M/s':>10} {'times':>6}  misses")
    least = None
    for capacity in (accesses // 1000, accesses // 100):
        for policy, name in POLICIES.items():
            best = [float("inf"), float("inf")]
            for _ in range(3):
                seconds, misses = ours(program, path, policy, capacity)
                best[0] = min(best[0], seconds)
                seconds, ratio = theirs(path, name, capacity)
                best[1] = min(best[1], seconds)
            times = best[1] / best[0]
            least = times if least is None else min(least, times)
            same = misses == round(ratio * accesses)
            note = "equal" if same else f"{misses} here, {round(ratio * accesses)} there"
            print(f"{policy:<8} {capacity:>9} {accesses / best[0] / 1e6:>9.1f} "
                  f"{accesses / best[1] / 1e6:>10.1f} {times:>6.1f}  {note}", flush=True)
    print(f"least: {least:.1f} times")


main()
