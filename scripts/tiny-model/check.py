"""Reads the GGUF file back and tries it, with numpy alone: `python check.py BUILD_DIR MODEL.gguf`.

The forward pass here shares no code with training, so it would show a wrong key, order or rotation in the file.
"""

import hashlib
import sys
from pathlib import Path

import gguf
import jinja2
import numpy as np
import torch

import model
from corpus import conversations
from tokenizer import SPECIALS, Tokenizer
from train import SEED

SIZE_LIMIT = 2 * 1024 * 1024
ANSWER_LIMIT = 100
HELD_OUT = 300

PROMPTS = [
    "Hello!",
    "What is the capital of France?",
    "What is 2 + 2?",
    "Why is the sky dark at night?",
    "What is batch inference?",
    "Classify the sentiment as positive or negative: The soup was cold and the waiter was rude.",
    "Write a bedtime story about an owl.",
    "Summarise: On Monday, Ada travelled to Oslo. It rained all day. In the museum, Ada found a lamp.",
    "Write a Python function that reverses a string.",
    "Wie spät ist es in Köln?",
]


class Model:
    """A GGUF file of architecture `llama`, run in float32."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.weights = {
            t.name.removesuffix(".weight"): gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors
        }
        self.tokenizer = Tokenizer(pair.split(" ") for pair in self.fields["tokenizer.ggml.merges"])
        self.template = jinja2.Template(self.fields["tokenizer.chat_template"], keep_trailing_newline=True)
        self.heads = self.fields["llama.attention.head_count"]
        self.kv_heads = self.fields["llama.attention.head_count_kv"]

    def encode(self, turns):
        """Ids of the rendered chat template."""
        messages = [{"role": role, "content": content} for role, content in turns]
        ids, rest = [], self.template.render(messages=messages, add_generation_prompt=True)
        while rest:
            at, special = min((rest.find(token), token) if token in rest else (len(rest), "") for token in SPECIALS)
            ids += self.tokenizer.encode(rest[:at]) + ([self.tokenizer.ids[special]] if special else [])
            rest = rest[at + len(special) :]
        return ids

    def norm(self, state, name):
        scale = np.sqrt((state * state).mean(-1, keepdims=True) + self.fields["llama.attention.layer_norm_rms_epsilon"])
        return state / scale * self.weights[name]

    def attend(self, state, layer):
        query, key, value = (state @ self.weights[f"blk.{layer}.attn_{part}"].T for part in "qkv")
        length, width = len(state), query.shape[1] // self.heads
        pairs = np.arange(width // 2)
        turn = np.exp(1j * np.arange(length)[:, None] * self.fields["llama.rope.freq_base"] ** (-2 * pairs / width))

        def rotated(vectors):
            points = vectors.reshape(length, -1, width // 2, 2)
            turned = (points[..., 0] + 1j * points[..., 1]) * turn[:, None]
            return np.stack((turned.real, turned.imag), -1).reshape(length, -1, width)

        query, key, value = rotated(query), rotated(key), value.reshape(length, -1, width)
        future, mixed = np.triu(np.ones((length, length), bool), 1), []
        for head in range(self.heads):
            shared = head * self.kv_heads // self.heads
            scores = query[:, head] @ key[:, shared].T / np.sqrt(width)
            scores[future] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            mixed.append(shares / shares.sum(-1, keepdims=True) @ value[:, shared])
        return np.concatenate(mixed, -1) @ self.weights[f"blk.{layer}.attn_output"].T

    def logits(self, ids):
        """Logits after each of `ids`."""
        state = self.weights["token_embd"][ids]
        for layer in range(self.fields["llama.block_count"]):
            state = state + self.attend(self.norm(state, f"blk.{layer}.attn_norm"), layer)
            value = self.norm(state, f"blk.{layer}.ffn_norm")
            gate = value @ self.weights[f"blk.{layer}.ffn_gate"].T
            up = value @ self.weights[f"blk.{layer}.ffn_up"].T
            state = state + (gate / (1 + np.exp(-gate)) * up) @ self.weights[f"blk.{layer}.ffn_down"].T
        return self.norm(state, "output_norm") @ self.weights["output"].T

    def answer(self, turns):
        """The greedy answer, and whether it ended by itself."""
        prompt, ids = self.encode(turns), []
        while len(ids) < ANSWER_LIMIT:
            best = int(self.logits(prompt + ids)[-1].argmax())
            if best == self.fields["tokenizer.ggml.eos_token_id"]:
                return self.tokenizer.decode(ids), True
            ids.append(best)
        return self.tokenizer.decode(ids), False


def check_against_training(read, build, held_out):
    """Fails unless the file's logits are those of the trained network, but for what Q8_0 rounds away."""
    trained = {name: torch.from_numpy(value) for name, value in np.load(build / "weights.npz").items()}
    agree, total, worst = 0, 0, 0.0
    for turns in held_out:
        ids = read.encode(turns[:-1])
        assert ids == read.tokenizer.encode_prompt(turns[:-1]), "the template and the trained format differ"
        positions = torch.arange(len(ids))[None]
        with torch.no_grad():
            expected = model.forward(model.Shape(), trained, torch.tensor([ids]), positions)[0].numpy()
        found = read.logits(ids)
        agree += int((found.argmax(-1) == expected.argmax(-1)).sum())
        total += len(ids)
        worst = max(worst, float(np.abs(found - expected).mean()))
    print(f"file and training agree on {agree} of {total} tokens; mean difference of logits at most {worst:.3f}")
    assert agree >= 0.97 * total


def check_answers(read, held_out):
    """Fails unless nearly all answers end by themselves in plain text, and half are word for word the corpus's own."""
    ended, exact = 0, 0
    for turns in held_out:
        text, finished = read.answer(turns[:-1])
        ended += finished and text.isascii()
        exact += text == turns[-1][1]
    print(f"of {len(held_out)} unseen conversations {ended} ended by themselves in plain words, {exact} as written")
    assert ended >= 0.98 * len(held_out) and exact >= 0.5 * len(held_out)


def main(build, path):
    torch.set_num_threads(1)
    content = path.read_bytes()
    assert len(content) < SIZE_LIMIT
    print(f"{path}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")
    read = Model(path)
    held_out = conversations(SEED + 1, HELD_OUT)
    check_against_training(read, build, held_out)
    check_answers(read, held_out)
    for prompt in PROMPTS:
        text, finished = read.answer([("user", prompt)])
        print(f"\n> {prompt}\n{text}{'' if finished else ' …'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
