#!/usr/bin/env python3
"""Writes reference_pieces.json: a small SentencePiece BPE vocabulary and the ids that PyPI's `sentencepiece` gives texts.

    python3 -m venv build/venv && build/venv/bin/pip install sentencepiece==0.2.3
    build/venv/bin/python tests/gpu/reference_pieces.py > tests/gpu/reference_pieces.json

The vocabulary is trained on this project's own documents, in the way of Llama's: no normalisation, bytes for
characters that have no token, a blank before the text.
"""
import io
import json
import pathlib

import sentencepiece

from reference_tokens import WRITTEN, made_up

root = pathlib.Path(__file__).parents[2]
corpus = "\n".join((root / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "docs/virtual_time.md"))
lines = [line for line in corpus.split("\n") if line.strip()]
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=600, byte_fallback=True,
    normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True, character_coverage=0.999,
    num_threads=1, minloglevel=2)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
kinds = [6 if processor.is_byte(i) else 3 if processor.is_control(i) else 2 if processor.is_unknown(i) else 1
         for i in range(len(processor))]
texts = [text for text in WRITTEN + made_up(40) if "\0" not in text]
print(json.dumps({"tokens": [processor.id_to_piece(i) for i in range(len(processor))],
                  "scores": [processor.get_score(i) for i in range(len(processor))], "kinds": kinds},
                 ensure_ascii=False, separators=(",", ":"))[:-1] + ',"texts":[')
print(",\n".join(json.dumps({"text": text, "ids": processor.encode(text)}, separators=(",", ":")) for text in texts))
print("]}")
