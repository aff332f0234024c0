"""A Qwen3 of two layers with the shape of its embedding models: weights, tokenizer and forward pass, in NumPy alone."""

import gguf
import numpy as np

import parts

END = "<|endoftext|>"
WIDTH, HEADS, KV_HEADS, HEAD_WIDTH, LAYERS, FEED_FORWARD = 32, 2, 1, 16, 2, 64
CONTEXT, EPSILON, ROPE_BASE = 1024, 1e-6, 10_000.0


def byte_letters():
    """GPT-2's letter of each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {**{byte: chr(byte) for byte in shown}, **{byte: chr(256 + place) for place, byte in enumerate(hidden)}}


class Qwen3:
    """Pooling of the last token, which is the end of the text; causal attention; a token for each byte."""

    ARCHITECTURE = "qwen3"

    def __init__(self, chance):
        letters = byte_letters()
        self.tokens = [*(letters[byte] for byte in range(256)), END]
        self.weights = weights(chance, len(self.tokens))

    def describe(self, writer):
        """Sizes and tokenizer."""
        writer.add_context_length(CONTEXT)
        writer.add_embedding_length(WIDTH)
        writer.add_block_count(LAYERS)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(KV_HEADS)
        writer.add_key_length(HEAD_WIDTH)
        writer.add_value_length(HEAD_WIDTH)
        writer.add_layer_norm_rms_eps(EPSILON)
        writer.add_rope_freq_base(ROPE_BASE)
        writer.add_pooling_type(gguf.PoolingType.LAST)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_list(self.tokens)
        writer.add_token_types([*[gguf.TokenType.NORMAL] * 256, gguf.TokenType.CONTROL])
        # llama.cpp wants merges; this one is never met.
        writer.add_token_merges([f"{self.tokens[0]} {self.tokens[0]}"])
        writer.add_eos_token_id(256)
        writer.add_pad_token_id(256)
        writer.add_add_bos_token(False)
        writer.add_add_eos_token(True)

    def tokenize(self, text):
        """Its bytes and the end."""
        return [*text.encode(), 256]

    def embed(self, tokens):
        """The last token after the last norm."""
        value = {name: weight.astype(np.float64) for name, weight in self.weights.items()}
        norm = lambda row, name: parts.rms_norm(row, value[f"{name}.weight"], EPSILON)
        linear = lambda row, name: row @ value[f"{name}.weight"].T
        turn = lambda heads: parts.rotate(heads, ROPE_BASE)
        state = value["token_embd.weight"][tokens]
        for layer in range(LAYERS):
            at = f"blk.{layer}"
            seen = norm(state, f"{at}.attn_norm")
            query = turn(norm(parts.split(linear(seen, f"{at}.attn_q"), HEADS), f"{at}.attn_q_norm"))
            key = turn(norm(parts.split(linear(seen, f"{at}.attn_k"), KV_HEADS), f"{at}.attn_k_norm"))
            content = parts.split(linear(seen, f"{at}.attn_v"), KV_HEADS)
            shared = HEADS // KV_HEADS
            seen = parts.attention(query, key.repeat(shared, 0), content.repeat(shared, 0), is_causal=True)
            state = state + linear(seen, f"{at}.attn_output")
            seen = norm(state, f"{at}.ffn_norm")
            gate = parts.silu(linear(seen, f"{at}.ffn_gate")) * linear(seen, f"{at}.ffn_up")
            state = state + linear(gate, f"{at}.ffn_down")
        return norm(state, "output_norm")[-1]


def weights(chance, vocabulary):
    """All tensors under GGUF's names; the output is tied to the embedding."""
    made = {"token_embd.weight": parts.matrix(chance, vocabulary, WIDTH, 1.0)}

    def add_norm(name, width=WIDTH):
        made[f"{name}.weight"] = 1 + parts.vector(chance, width, 0.1)

    def add_linear(name, rows, columns):
        made[f"{name}.weight"] = parts.matrix(chance, rows, columns, 1.0 / columns**0.5)

    add_norm("output_norm")
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        add_norm(f"{at}.attn_norm")
        add_norm(f"{at}.ffn_norm")
        add_norm(f"{at}.attn_q_norm", HEAD_WIDTH)
        add_norm(f"{at}.attn_k_norm", HEAD_WIDTH)
        add_linear(f"{at}.attn_q", HEADS * HEAD_WIDTH, WIDTH)
        add_linear(f"{at}.attn_k", KV_HEADS * HEAD_WIDTH, WIDTH)
        add_linear(f"{at}.attn_v", KV_HEADS * HEAD_WIDTH, WIDTH)
        add_linear(f"{at}.attn_output", WIDTH, HEADS * HEAD_WIDTH)
        add_linear(f"{at}.ffn_gate", FEED_FORWARD, WIDTH)
        add_linear(f"{at}.ffn_up", FEED_FORWARD, WIDTH)
        add_linear(f"{at}.ffn_down", WIDTH, FEED_FORWARD)
    return made
