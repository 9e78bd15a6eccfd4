#!/usr/bin/env python3
"""Writes reference_blocks.txt: blocks of random bytes in every encoding and their values as PyPI's `gguf` reads them.

    python3 -m venv build/venv && build/venv/bin/pip install gguf==0.19.0
    build/venv/bin/python tests/gpu/reference_blocks.py > tests/gpu/reference_blocks.txt

One line a row: encoding, bytes and fp32 values, both in hexadecimal as they lie in memory. Scales are finite halves.
"""
import gguf
import numpy as np

SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q8_0": [0], "Q4_K": [0, 2], "Q6_K": [208]}
random = np.random.default_rng(1)

for name in ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q6_K"]:
    encoding = gguf.GGMLQuantizationType[name]
    weights, size = gguf.GGML_QUANT_SIZES[encoding]
    blocks = {1: 8, 32: 3, 256: 1}[weights]
    for _ in range(2):
        row = random.integers(0, 256, (blocks, size), dtype=np.uint8)
        if name in ("F32", "F16", "BF16"):
            values = random.normal(size=blocks).astype(np.float32)
            row = gguf.quantize(values, encoding).view(np.uint8).reshape(blocks, size)
        for at in SCALES.get(name, []):
            row[:, at:at + 2] = random.normal(size=blocks).astype(np.float16).view(np.uint8).reshape(blocks, 2)
        read = gguf.dequantize(row.reshape(1, -1), encoding).astype(np.float32)
        print(name, row.tobytes().hex(), read.tobytes().hex())
