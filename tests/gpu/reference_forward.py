#!/usr/bin/env python3
"""Writes reference_forward.json: what SmolLM2-135M answers to 20 prompts, computed by numpy in fp32.

    python3 -m venv build/venv && build/venv/bin/pip install gguf==0.19.0 tokenizers==0.23.3 llama-cpp-python==0.3.36
    ./dev model smollm2-135m
    build/venv/bin/python tests/gpu/reference_forward.py build/models/smollm2-135m.gguf > tests/gpu/reference_forward.json

The weights are read and dequantised by the `gguf` package; the forward pass below shares no code with the engines. Of
each prompt's last logits the file keeps the largest 8, those at 64 fixed places and the largest magnitude; `--full FILE`
writes all of them, [20][vocabulary] in fp32, for a test with REFRAIN_FULL_LOGITS=FILE. `greedy` are the 64 tokens that
follow when the largest logit is always taken, `greedy_gap` the smallest distance of the largest two on that way.
`llama_cpp` is the largest logit that llama.cpp, of the source in `llama-cpp-python`, gives after the same tokens on the
CPU; without that package, the file that is there keeps its own.
"""
import json
import os
import sys

import gguf
import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

GREEDY = 64
HERE = os.path.dirname(os.path.abspath(__file__))

TEXTS = [
    "The",
    "Once upon a time, in a small village by the sea, there lived",
    "The capital of France is",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "1 2 3 4 5 6 7 8 9 10 11",
    "Q: What is 12 + 30?\nA:",
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nWhy is the sky blue?<|im_end|>\n"
    "<|im_start|>assistant\n",
    "<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\nRed, green",
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec",
    "Die Hauptstadt von Deutschland ist Berlin, und die von \u00d6sterreich ist",
    "{\"name\": \"Ada\", \"age\": 36, \"languages\": [\"",
    "#include <vector>\n\nint sum(const std::vector<int>& values) {\n  int total = 0;\n  for (",
    "SELECT name, COUNT(*) FROM orders WHERE",
    "\U0001f600 \U0001f680 \U0001f389",
    "          indented    by   many     blanks",
    "The theorem of Pythagoras says that in a right triangle the square of the hypotenuse",
    "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd",
    "na na na na na na na na na na na na",
    # Longer than one pass of the engine.
    " ".join(f"Item {i} costs {i * i % 97} coins and weighs {i * 7 % 31} grams." for i in range(1, 46)),
    "In the beginning the program read its input. " * 8 + "Then it",
]


def read(path):
    reader = gguf.GGUFReader(path)
    values = {name: field.contents() for name, field in reader.fields.items()}
    tensors = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
    return values, tensors


def encode(values, texts):
    names = values["tokenizer.ggml.tokens"]
    ids = {name: i for i, name in enumerate(names)}
    merges = [tuple(m.split(" ")) for m in values["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return [tokenizer.encode(text).ids for text in texts]


class Model:
    def __init__(self, values, tensors):
        get = lambda key: values["llama." + key]
        self.t = tensors
        self.layers = get("block_count")
        self.heads = get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv")
        self.epsilon = np.float32(get("attention.layer_norm_rms_epsilon"))
        self.size = get("embedding_length") // self.heads
        exponents = -2.0 * np.arange(self.size // 2) / self.size
        self.frequencies = get("rope.freq_base") ** exponents
        self.output = tensors.get("output.weight", tensors["token_embd.weight"])

    def norm(self, x, name):
        mean = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean + self.epsilon) * self.t[name]

    def turn(self, x, start):
        angles = (start + np.arange(x.shape[0]))[:, None] * self.frequencies
        cos, sin = (f(angles).astype(np.float32)[:, None, :] for f in (np.cos, np.sin))
        even, odd = x[..., 0::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)

    def forward(self, tokens, cache):
        """The last token's logits; `cache` holds keys and values by layer and grows."""
        x = self.t["token_embd.weight"][tokens]
        start = cache[0][0].shape[0] if cache else 0
        rows = len(tokens)
        hidden = np.arange(start + rows)[None, :] > start + np.arange(rows)[:, None]
        for i in range(self.layers):
            name = lambda part: f"blk.{i}.{part}.weight"
            n = self.norm(x, name("attn_norm"))
            q = self.turn((n @ self.t[name("attn_q")].T).reshape(rows, self.heads, self.size), start)
            k = self.turn((n @ self.t[name("attn_k")].T).reshape(rows, self.kv_heads, self.size), start)
            v = (n @ self.t[name("attn_v")].T).reshape(rows, self.kv_heads, self.size)
            if i < len(cache):
                k, v = np.concatenate([cache[i][0], k]), np.concatenate([cache[i][1], v])
                cache[i] = k, v
            else:
                cache.append((k, v))
            group = self.heads // self.kv_heads
            scores = np.matmul(q.transpose(1, 0, 2), k.repeat(group, axis=1).transpose(1, 2, 0))
            scores = np.where(hidden, -np.inf, scores / np.float32(np.sqrt(self.size)))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            a = np.matmul(weights, v.repeat(group, axis=1).transpose(1, 0, 2)).transpose(1, 0, 2)
            x = x + a.reshape(rows, -1) @ self.t[name("attn_output")].T
            n = self.norm(x, name("ffn_norm"))
            gate, up = n @ self.t[name("ffn_gate")].T, n @ self.t[name("ffn_up")].T
            x = x + (gate / (1 + np.exp(-gate)) * up) @ self.t[name("ffn_down")].T
        return self.norm(x[-1:], "output_norm.weight")[0] @ self.output.T


def llama_cpp_largest(path, prompts):
    try:
        from llama_cpp import Llama
    except ImportError:
        return None
    model = Llama(path, n_ctx=2048, n_batch=2048, n_threads=1, n_gpu_layers=0, logits_all=True, verbose=False)
    largest = []
    for tokens in prompts:
        model.reset()
        model.eval(tokens)
        largest.append(int(np.argmax(model.scores[model.n_tokens - 1])))
    return largest


def main():
    path = sys.argv[1]
    values, tensors = read(path)
    prompts = encode(values, TEXTS)
    model = Model(values, tensors)
    vocabulary = model.output.shape[0]
    places = np.random.default_rng(6).choice(vocabulary, 64, replace=False)
    old = os.path.join(HERE, "reference_forward.json")
    theirs = llama_cpp_largest(path, prompts)
    if theirs is None and os.path.exists(old):
        theirs = [each["llama_cpp"] for each in json.load(open(old))["prompts"]]
    full, results = [], []
    for i, tokens in enumerate(prompts):
        cache = []
        logits = model.forward(tokens, cache)
        full.append(logits)
        best = np.argsort(-logits)[:8]
        result = {"tokens": tokens, "largest_magnitude": float(np.abs(logits).max()),
                  "top": best.tolist(), "top_logits": logits[best].tolist(), "logits": logits[places].tolist()}
        greedy, gap = [], np.inf
        for _ in range(GREEDY):
            second, first = np.partition(logits, -2)[-2:]
            gap = min(gap, float(first - second))
            greedy.append(int(np.argmax(logits)))
            logits = model.forward(greedy[-1:], cache)
        result |= {"greedy": greedy, "greedy_gap": gap}
        if theirs:
            result["llama_cpp"] = theirs[i]
        results.append(result)
        print(f"prompt {i}: {len(tokens)} tokens, gap {gap:.4g}", file=sys.stderr, flush=True)
    if "--full" in sys.argv:
        np.array(full, dtype=np.float32).tofile(sys.argv[sys.argv.index("--full") + 1])
    rows = ",\n".join(json.dumps(each) for each in results)
    print(f'{{"vocabulary": {vocabulary}, "places": {json.dumps(places.tolist())}, "prompts": [\n{rows}\n]}}')


main()
