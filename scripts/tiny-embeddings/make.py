"""Writes the embedding models of the tests with random weights, and what they make of some texts: `python make.py FOLDER`."""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

import bert
import qwen3

BERT_TEXTS = ["the night", "a batch of requests waits", "The stars, the moon!", "unknown zebra"]
QWEN3_TEXTS = ["night", "A batch waits until the night comes.", "é 🌙", "long " * 150]


def write(path, architecture, model, describe):
    """Writes one file; `describe` adds what the architecture needs."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_description("Random weights: a model of the tests, of no other use.")
    writer.add_license("apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    describe(writer)
    for name, value in model.weights.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def cases(model, texts):
    """Texts with their tokens and vectors of length 1."""
    made = []
    for text in texts:
        tokens = model.tokenize(text)
        vector = model.embed(tokens)
        vector = vector / np.linalg.norm(vector)
        made.append({"text": text, "tokens": tokens, "embedding": [round(float(number), 7) for number in vector]})
    return made


def make(folder):
    """All files."""
    chance = np.random.default_rng(20261127)
    models = {"tiny-bert": (bert.Bert(chance), BERT_TEXTS), "tiny-qwen3": (qwen3.Qwen3(chance), QWEN3_TEXTS)}
    for name, (model, texts) in models.items():
        write(folder / f"{name}.gguf", model.ARCHITECTURE, model, model.describe)
        lines = ",\n".join(json.dumps(case) for case in cases(model, texts))
        (folder / f"{name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
