"""A byte-level BPE tokenizer in GPT-2's manner: learned here, read by llama.cpp.

llama.cpp splits text with GPT-2's pattern, maps each byte to one printable character and joins pairs by rank.
This file does the same, so that the ids seen in training are the ids seen when the model is served.
"""

import re
from collections import Counter
from functools import lru_cache

SPECIALS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
START, END, TEXT_END = SPECIALS

# GPT-2's pattern with Python's classes for letters and digits, which differ in signs such as ½ only.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_characters():
    """The printable character that stands for each byte, as GPT-2 chose them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(printable))
    return table


BYTES = byte_characters()
BYTE_OF = {character: byte for byte, character in BYTES.items()}


def symbols(word):
    """The word's bytes as a tuple of printable characters."""
    return tuple(BYTES[byte] for byte in word.encode())


def join_pair(parts, pair):
    """`parts` with every occurrence of `pair`, from the left, joined into one."""
    joined, at = [], 0
    while at < len(parts):
        if parts[at : at + 2] == pair:
            joined.append(parts[at] + parts[at + 1])
            at += 2
        else:
            joined.append(parts[at])
            at += 1
    return tuple(joined)


def learn_merges(texts, count):
    """The `count` most useful merges, best first; ties go to the smaller pair, so that the texts decide all.

    Words with digits take no part: numbers stay single digits, which makes sums learnable.
    """
    words = Counter()
    for text in texts:
        words.update(word for word in WORDS.findall(text) if not any(c.isdigit() for c in word))
    split = {symbols(word): seen for word, seen in words.items()}
    merges = []
    while len(merges) < count:
        pairs = Counter()
        for parts, seen in split.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += seen
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        split = {join_pair(parts, best): seen for parts, seen in split.items()}
    return merges


class Tokenizer:
    """Text to ids and back. Ids: 256 bytes, then one token a merge, then the special tokens."""

    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        self.tokens = [BYTES[byte] for byte in range(256)] + ["".join(pair) for pair in self.merges] + SPECIALS
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.word_ids = lru_cache(maxsize=None)(self._word_ids)

    def _word_ids(self, word):
        parts = symbols(word)
        while len(parts) > 1:
            pair = min(zip(parts, parts[1:]), key=lambda pair: self.ranks.get(pair, len(self.ranks)))
            if pair not in self.ranks:
                break
            parts = join_pair(parts, pair)
        return [self.ids[part] for part in parts]

    def encode(self, text):
        """The ids of plain text; names of special tokens in it are not special."""
        return [number for word in WORDS.findall(text) for number in self.word_ids(word)]

    def encode_turn(self, role, content):
        """The ids of one ChatML turn, with its markers."""
        return [self.ids[START], *self.encode(f"{role}\n{content}"), self.ids[END], *self.encode("\n")]

    def encode_prompt(self, turns):
        """The ids of (role, content) pairs followed by the opening of the answer."""
        ids = [number for role, content in turns for number in self.encode_turn(role, content)]
        return [*ids, self.ids[START], *self.encode("assistant\n")]

    def decode(self, ids):
        """The text of plain tokens; a special token shows as its name."""
        text = "".join(self.tokens[number] for number in ids)
        return bytes(BYTE_OF[character] for character in text).decode(errors="replace")
