#!/usr/bin/env python3
"""Writes reference_tokens.json: texts and the token ids that PyPI's `tokenizers` gives them.

    python3 -m venv build/venv && build/venv/bin/pip install gguf==0.19.0 tokenizers==0.23.3 regex==2026.11.19 jinja2
    ./dev model smollm2-135m
    build/venv/bin/python tests/gpu/reference_tokens.py build/models/smollm2-135m.gguf > tests/gpu/reference_tokens.json

Vocabulary and merges are those in the model file. They are run with four splitters: SmolLM2's own, and those of GPT-2,
Llama 3 and Qwen 2, whose vocabularies are not at hand but whose splitting is what differs.

`tokenizers` takes no broken UTF-8. Broken texts are therefore split here, by the same expressions, with each byte that
belongs to no character as a character of its own that is neither letter, number nor blank; the bytes of each piece are
then merged by `tokenizers`. For all other texts this way is checked to give what `tokenizers` gives as a whole.
"""
import json
import random
import sys

import gguf
import jinja2
import regex
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
          r"""|\s*[\r\n]+|\s+(?!\S)|\s+""")
QWEN2 = LLAMA3.replace("{1,3}", "")

WRITTEN = [
    "", " ", "  ", "   ", "\n", "\n\n", "\t", " \n", "\n ", " \t \n  x", "a", " a", "a ", " a ", "a  b   c", "a b\n\nc\n",
    "Hello, world!", "hello world", "HELLO WORLD", "The quick brown fox jumps over the lazy dog.",
    "It's what we've said: they'll see, I'd go, you're right, I'm in, don't.", "IT'S WHAT WE'VE SAID. THEY'LL SEE; I'D GO.",
    "'s 't 're 've 'm 'll 'd 'x ''s '", "it' s", "rock'n'roll, o'clock, the 1990's", "it\u017f and '\u017f and 'S",
    "0", "7", "42", "2024", "1234567890", "3.14159", "1,000,000.00", "-1e-9", "0x1F600", " 3", "a3b4", "12 34  56", "\u00bd\u00b2\u2167\u3007\u0663\u0664",
    "1st 2nd 3rd", "v0.17.6-rc1", "192.168.0.1:8080", "2026-11-30T22:15:00Z", "\u0967\u0968\u0969 \uff11\uff12\uff13",
    "Gr\u00fc\u00dfe aus K\u00f6ln, stra\u00dfe \u00c4\u00d6\u00dc", "\u00e7a va? D\u00e9j\u00e0 vu, na\u00efve fa\u00e7ade", "ma\u00f1ana ser\u00e1 otro d\u00eda", "\u0141\u00f3d\u017a, Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144",
    "e\u0301 as two characters, \u00e9 as one", "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002", "\u6211\u4eec\u7528\u7f13\u5b58\u6765\u52a0\u901f\u63a8\u7406\uff0c\u7701\u53bb\u91cd\u590d\u7684\u8ba1\u7b97\u3002", "\u7b2c3\u7ae0 \u7b2c\u56db\u8282",
    "\u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u306d\u3002\u30ad\u30e3\u30c3\u30b7\u30e5\u3092\u4f7f\u3046\u3002", "\uff8a\uff9d\uff76\uff78 \u3068 \u5168\u89d2\uff21\uff22\uff23", "\uc548\ub155\ud558\uc138\uc694, \uce90\uc2dc\uac00 \ub530\ub73b\ud569\ub2c8\ub2e4.", "\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u043b\u043a\u0430", "\u03b3\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "\u12a0\u121b\u122d\u129b \u1348\u12f0\u120d",
    "\U0001f600", "\U0001f600\U0001f680 go", "ok \U0001f44d\U0001f3fd done", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family", "\u2764\ufe0f\u2728", "flags \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "a\U0001f600b", " \U0001f389 party \U0001f389 ",
    "\u00a0non-breaking\u00a0\u00a0blanks", "wide\u3000blank", "thin\u2009blank\u200a\u200ahair", "zero\u200bwidth", "line\u2028and\u2029paragraph", "next\u0085line", "ogham\u1680blank",
    "\ufeffbyte order mark", "soft\u00adhyphen", "\u202eright to left\u202c", "combining a\u0308\u0323\u0301 marks", "\ufffd\ufffd", "\U00010348\U00010349 gothic", "\U0001d54f\U0001d550 math letters", "\ue000 private \U000f0000",
    "\u0000", "a\u0000b", "\u0001\u0004\u0006\u0013\u001f\u007f", "tab\tand\x0b\x0cform", "cr\r\nlf\r\n\r\nend", "\r\r", "a\rb",
    "int main() {\n  return 0;\n}\n", "for (int i = 0; i < n; ++i) {\n\t\tsum += a[i] * b[i];\n\t}", "def f(x):\n    return x**2 + 1  # square\n\n\nprint(f(3))",
    "if __name__ == \"__main__\":\n        main()", "SELECT * FROM t WHERE a >= 10 AND b <> 'x';", "<div class=\"a\">&nbsp;</div>", "{\"key\": [1, 2.5, null, true], \"\u00fc\": \"\\u00fc\"}",
    "#include <vector>\n#define X(a) ((a) << 3)", "git commit -m \"why\" && git push", "C:\\Windows\\System32", "/usr/local/bin:/usr/bin", "https://example.org/a?b=c&d=%20#e", "user@example.org", "snake_case camelCase PascalCase SCREAMING_CASE kebab-case",
    "!!!", "...", "\u2026", "??!!", "(((())))", "---", "=====", "***bold*** _it_ `code`", "| a | b |\n|---|---|\n| 1 | 2 |", "$5.00 \u20ac7 \u00a39 \u00a51", "50% off", "a+b=c", "\u2211\u222b\u221a \u2260 \u2264", "\u201cquoted\u201d \u2018single\u2019 \u00abangle\u00bb",
    "\u201cIt\u2019s\u201d", "word--word", "end.\nStart", "end.  Start", "x\n\n\n\ny", "x \n \n y", "trailing blanks    ", "    leading blanks", "\n\n\n", "\n\n  \n\n", "a\n   b", "!\n\n!", ".\r\n.",
    "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>", "a<|im_end|>b", "<|im_start", "<repo_name>x<file_sep>",
    "a" * 100, "ab" * 60, " " * 100 + "x", "\n" * 50, "!" * 64, "1" * 40, "\u4e2d" * 30, "na na " * 20, "Supercalifragilisticexpialidocious", "antidisestablishmentarianism",
    "KV cache reuse: what was computed once is not computed again.", "What is 12+30? 42!", "Temperature: -40\u00b0C = -40\u00b0F", "H\u2082O, E=mc\u00b2, x\u207b\u00b9", "\u2460\u2461 \u2170\u2171 \u5341\u4e8c",
    "No. 5, \u00a7 3, \u00b6 2", "tokens/s, p99, 1.5x", "e.g., i.e., etc.", "A.B.C.", "a.b.c", "ALL CAPS and Mixed", "\u01c5 \u02b0 \u00aa\u00ba", "\u0e51\u0e52\u0e53 baht", "2\u00d73", "\u2167 Henry",
]

BROKEN = [
    b"\xff", b"\xfe\xff", b"abc\xff", b"\xffabc", b"a\x80b", b"\x80\x80\x80", b"caf\xe9 latin", b"\xc3", b"\xc3(", b"\xe4\xbd", b"\xe4\xbd\xa0\xe5", b"\xf0\x9f\x98",
    b"\xf0\x9f\x98\x80\xf0\x9f", b"\xed\xa0\x80", b"\xed\xb0\x80 lone", b"\xc0\xaf", b"\xc1\x81", b"\xe0\x80\xaf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b" \xff \xff ", b"\n\xe2\x82\n",
    b"12\xff34", b"it's \x93quoted\x94", b"\xe2\x82a", b"x\xf0y", b"\xa0\xa0", b"\x85\x85 x", b"'\xff's", b"\xef\xbb\xbf\xff", b"!\xe9!",
]


def made_up(count):
    """Texts of pieces put together by chance: neighbours that nobody thinks of."""
    draw = random.Random(1)
    pieces = ["the", "cache", "Über", "日本", "😀", "n't", "'s", "'LL", "42", "³", " ", "  ", "\n", "\r\n", "\t", "\u00a0", ".", ",", "—", "(", "_", "\u0301", "\u200d", "a", "Z"]
    return ["".join(draw.choice(pieces) for _ in range(draw.randint(4, 24))) for _ in range(count)]


def alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


class Reference:
    def __init__(self, vocabulary, merges, splitter):
        whole_first = splitter == "llama-bpe"
        self.splitter = splitter
        self.bytes = alphabet()
        self.model = models.BPE(vocabulary, merges, ignore_merges=whole_first)
        self.tokenizer = Tokenizer(self.model)
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splitter in ("smollm", "gpt-2"))
        before = {"smollm": [pre_tokenizers.Digits(individual_digits=True)], "gpt-2": [],
                  "llama-bpe": [pre_tokenizers.Split(Regex(LLAMA3), "isolated")],
                  "qwen2": [pre_tokenizers.Split(Regex(QWEN2), "isolated")]}[splitter]
        self.tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, byte_level])

    def whole(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def pieces(self, text):
        if self.splitter == "smollm":
            parts = [p for p in regex.split(r"(\p{N})", text) if p]
            return [p for part in parts for p in regex.findall(GPT2, part)]
        return regex.findall({"gpt-2": GPT2, "llama-bpe": LLAMA3, "qwen2": QWEN2}[self.splitter], text)

    def by_hand(self, data):
        ids = []
        for piece in self.pieces(data.decode("utf-8", "surrogateescape")):
            symbols = "".join(self.bytes[b] for b in piece.encode("utf-8", "surrogateescape"))
            ids += [token.id for token in self.model.tokenize(symbols)]
        return ids


def main(path):
    file = gguf.GGUFReader(path)
    field = lambda name: file.fields[name].contents()
    tokens = field("tokenizer.ggml.tokens")
    kinds = field("tokenizer.ggml.token_type")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    merges = [tuple(line.split(" ")) for line in field("tokenizer.ggml.merges")]
    references = [Reference(vocabulary, merges, name) for name in ("smollm", "gpt-2", "llama-bpe", "qwen2")]
    texts = [text.encode() for text in WRITTEN + made_up(40)] + BROKEN
    rows = []
    for data in texts:
        row = {"hex": data.hex()}
        for reference in references:
            ids = reference.by_hand(data)
            if data not in BROKEN:
                row["text"] = data.decode()
                assert ids == reference.whole(data.decode()), (reference.splitter, data)
            row[reference.splitter] = ids
        rows.append(row)
    special = references[0].tokenizer
    special.add_special_tokens([AddedToken(t, normalized=False, special=True) for t, kind in zip(tokens, kinds) if kind == 3])
    with_control = [{"text": text, "ids": special.encode(text, add_special_tokens=False).ids}
                    for text in WRITTEN if "<" in text]
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(field("tokenizer.chat_template"))
    conversations = [
        [{"role": "user", "content": "What is a KV cache?"}],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hi \n"}],
        [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "日本 😀"}],
    ]
    chats = []
    for messages in conversations:
        for start in (True, False):
            text = template.render(messages=messages, add_generation_prompt=start)
            chats.append({"messages": messages, "start_answer": start, "text": text,
                          "ids": special.encode(text, add_special_tokens=False).ids})
    print('{"texts": [')
    print(",\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
    print('],\n"with_control": [')
    print(",\n".join(json.dumps(row, separators=(",", ":")) for row in with_control))
    print('],\n"chats": [')
    print(",\n".join(json.dumps(row, separators=(",", ":")) for row in chats))
    print("]}")


if __name__ == "__main__":
    main(sys.argv[1])
