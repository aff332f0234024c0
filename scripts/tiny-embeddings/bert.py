"""A BERT of two layers: its weights, its tokenizer and its forward pass, in NumPy alone."""

import gguf
import numpy as np

import parts

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxy"
WORDS = ["the", "night", "batch", "of", "request", "star", "moon", "wait", "un", "and"]
ENDINGS = ["s", "ing", "known"]
MARKS = [",", ".", "!", "?"]
WIDTH, HEADS, LAYERS, FEED_FORWARD, CONTEXT, EPSILON = 32, 2, 2, 64, 128, 1e-12


class Bert:
    """Mean pooling, attention in both directions, WordPiece."""

    ARCHITECTURE = "bert"

    def __init__(self, chance):
        words = [*WORDS, *LETTERS, *MARKS]
        # GGUF marks the beginning of a word; BERT's own files mark its continuation with ##.
        self.tokens = [*SPECIALS, *("\u2581" + word for word in words), *ENDINGS, *LETTERS.replace("s", "")]
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.weights = weights(chance, len(self.tokens))

    def describe(self, writer):
        """Sizes and tokenizer."""
        writer.add_context_length(CONTEXT)
        writer.add_embedding_length(WIDTH)
        writer.add_block_count(LAYERS)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_layer_norm_eps(EPSILON)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        types = [gguf.TokenType.CONTROL if token in SPECIALS else gguf.TokenType.NORMAL for token in self.tokens]
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(self.tokens)
        writer.add_token_types(types)
        writer.add_token_type_count(2)
        for name, add in {
            "[UNK]": writer.add_unk_token_id, "[CLS]": writer.add_bos_token_id, "[SEP]": writer.add_sep_token_id,
            "[PAD]": writer.add_pad_token_id, "[MASK]": writer.add_mask_token_id,
        }.items():
            add(self.ids[name])

    def tokenize(self, text):
        """WordPiece of lower-case ASCII: the longest piece first, between [CLS] and [SEP]."""
        spaced = "".join(f" {letter} " if letter in MARKS else letter for letter in text.lower())
        pieces = [piece for word in spaced.split() for piece in self.word(word)]
        return [self.ids[piece] for piece in ["[CLS]", *pieces, "[SEP]"]]

    def word(self, word):
        """The pieces of a word; [UNK] if it has none."""
        pieces, rest = [], "\u2581" + word
        while rest:
            ends = [end for end in range(len(rest), 0, -1) if rest[:end] in self.ids]
            if not ends:
                return ["[UNK]"]
            pieces.append(rest[: ends[0]])
            rest = rest[ends[0]:]
        return pieces

    def embed(self, tokens):
        """The mean of the last layer."""
        value = {name: weight.astype(np.float64) for name, weight in self.weights.items()}
        norm = lambda row, name: parts.layer_norm(row, value[f"{name}.weight"], value[f"{name}.bias"], EPSILON)
        linear = lambda row, name: row @ value[f"{name}.weight"].T + value[f"{name}.bias"]
        state = value["token_embd.weight"][tokens] + value["token_types.weight"][0]
        state = norm(state + value["position_embd.weight"][: len(tokens)], "token_embd_norm")
        for layer in range(LAYERS):
            at = f"blk.{layer}"
            query, key, content = (parts.split(linear(state, f"{at}.attn_{name}"), HEADS) for name in "qkv")
            seen = parts.attention(query, key, content, is_causal=False)
            state = norm(state + linear(seen, f"{at}.attn_output"), f"{at}.attn_output_norm")
            inner = linear(parts.gelu(linear(state, f"{at}.ffn_up")), f"{at}.ffn_down")
            state = norm(state + inner, f"{at}.layer_output_norm")
        return state.mean(axis=0)


def weights(chance, vocabulary):
    """All tensors under GGUF's names."""
    made = {
        "token_embd.weight": parts.matrix(chance, vocabulary, WIDTH, 1.0),
        "token_types.weight": parts.matrix(chance, 2, WIDTH, 0.3),
        "position_embd.weight": parts.matrix(chance, CONTEXT, WIDTH, 0.5),
    }

    def add_norm(name):
        made[f"{name}.weight"] = 1 + parts.vector(chance, WIDTH, 0.1)
        made[f"{name}.bias"] = parts.vector(chance, WIDTH, 0.1)

    def add_linear(name, rows, columns):
        made[f"{name}.weight"] = parts.matrix(chance, rows, columns, 1.5 / columns**0.5)
        made[f"{name}.bias"] = parts.vector(chance, rows, 0.1)

    add_norm("token_embd_norm")
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        for name in ["attn_q", "attn_k", "attn_v", "attn_output"]:
            add_linear(f"{at}.{name}", WIDTH, WIDTH)
        add_linear(f"{at}.ffn_up", FEED_FORWARD, WIDTH)
        add_linear(f"{at}.ffn_down", WIDTH, FEED_FORWARD)
        add_norm(f"{at}.attn_output_norm")
        add_norm(f"{at}.layer_output_norm")
    return made
