"""The network: llama's architecture in PyTorch, with parameters named as GGUF names its tensors."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Shape:
    """Sizes of the network. Rows are multiples of 32, so that Q8_0 holds them."""

    vocabulary: int = 1024
    context: int = 4096
    width: int = 128
    layers: int = 5
    heads: int = 4
    kv_heads: int = 2
    feed_forward: int = 384
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_width(self):
        return self.width // self.heads

    def tensors(self):
        """Name and shape of every weight, as (rows, columns) or (columns,)."""
        kv_width = self.kv_heads * self.head_width
        named = {"token_embd": (self.vocabulary, self.width)}
        for layer in range(self.layers):
            named |= {
                f"blk.{layer}.attn_norm": (self.width,),
                f"blk.{layer}.attn_q": (self.width, self.width),
                f"blk.{layer}.attn_k": (kv_width, self.width),
                f"blk.{layer}.attn_v": (kv_width, self.width),
                f"blk.{layer}.attn_output": (self.width, self.width),
                f"blk.{layer}.ffn_norm": (self.width,),
                f"blk.{layer}.ffn_gate": (self.feed_forward, self.width),
                f"blk.{layer}.ffn_up": (self.feed_forward, self.width),
                f"blk.{layer}.ffn_down": (self.width, self.feed_forward),
            }
        return named | {"output_norm": (self.width,), "output": (self.vocabulary, self.width)}


def initial_weights(shape):
    """Fresh weights from torch's seeded generator: norms at one, the rest small and normal."""
    weights = {}
    for name, size in shape.tensors().items():
        if len(size) == 1:
            value = torch.ones(size)
        else:
            residual = name.endswith(("attn_output", "ffn_down"))
            scale = size[1] ** -0.5 * ((2 * shape.layers) ** -0.5 if residual else 1.0)
            value = torch.randn(size) * (0.05 if name == "token_embd" else scale)
        weights[name] = value.requires_grad_()
    return weights


def rotate(heads, cosine, sine):
    """Rotary positions on neighbouring pairs (0,1), (2,3)…: the order that llama.cpp's `llama` architecture uses."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1).flatten(-2)


def forward(shape, weights, ids, positions):
    """Logits for `ids` at `positions`, both (rows, length); attention is causal, so padding belongs at the end."""
    rows, length = ids.shape
    exponents = torch.arange(0, shape.head_width, 2, dtype=torch.float32) / shape.head_width
    angles = (positions[..., None] * shape.rope_base**-exponents)[:, None]
    cosine, sine = angles.cos(), angles.sin()

    def norm(value, scale):
        return F.rms_norm(value, (shape.width,), scale, shape.epsilon)

    def split(value, heads):
        return value.view(rows, length, heads, shape.head_width).transpose(1, 2)

    state = F.embedding(ids, weights["token_embd"])
    for layer in range(shape.layers):
        block = {name.split(".")[2]: value for name, value in weights.items() if name.startswith(f"blk.{layer}.")}
        value = norm(state, block["attn_norm"])
        query = rotate(split(F.linear(value, block["attn_q"]), shape.heads), cosine, sine)
        key = rotate(split(F.linear(value, block["attn_k"]), shape.kv_heads), cosine, sine)
        held = split(F.linear(value, block["attn_v"]), shape.kv_heads)
        group = shape.heads // shape.kv_heads
        key, held = key.repeat_interleave(group, 1), held.repeat_interleave(group, 1)
        mixed = F.scaled_dot_product_attention(query, key, held, is_causal=True)
        state = state + F.linear(mixed.transpose(1, 2).flatten(2), block["attn_output"])
        value = norm(state, block["ffn_norm"])
        gated = F.silu(F.linear(value, block["ffn_gate"])) * F.linear(value, block["ffn_up"])
        state = state + F.linear(gated, block["ffn_down"])
    return F.linear(norm(state, weights["output_norm"]), weights["output"])
