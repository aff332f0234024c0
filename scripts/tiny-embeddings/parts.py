"""What both networks are made of."""

import math

import numpy as np

erf = np.vectorize(math.erf)


def matrix(chance, rows, columns, deviation):
    """Random numbers."""
    return chance.normal(0, deviation, (rows, columns)).astype(np.float32)


def vector(chance, length, deviation):
    """Random numbers."""
    return chance.normal(0, deviation, length).astype(np.float32)


def layer_norm(row, weight, bias, epsilon):
    """Mean 0, deviation 1, then weight and bias."""
    centred = row - row.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon) * weight + bias


def rms_norm(row, weight, epsilon):
    """Mean square 1, then the weight."""
    return row / np.sqrt((row**2).mean(axis=-1, keepdims=True) + epsilon) * weight


def gelu(value):
    """The exact one."""
    return 0.5 * value * (1 + erf(value / math.sqrt(2)))


def silu(value):
    """Also called swish."""
    return value / (1 + np.exp(-value))


def split(rows, heads):
    """Rows of all heads, head by head."""
    return rows.reshape(len(rows), heads, -1).transpose(1, 0, 2)


def rotate(heads, base):
    """Rotary positions; the second half of a head is the partner of the first."""
    half = heads.shape[-1] // 2
    angles = np.arange(heads.shape[1])[:, None] * base ** (-np.arange(half) / half)
    first, second = heads[..., :half], heads[..., half:]
    turned = [first * np.cos(angles) - second * np.sin(angles), first * np.sin(angles) + second * np.cos(angles)]
    return np.concatenate(turned, axis=-1)


def attention(query, key, content, is_causal):
    """Softmax attention of all heads, joined again."""
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    if is_causal:
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    seen = scores / scores.sum(axis=-1, keepdims=True) @ content
    return seen.transpose(1, 0, 2).reshape(seen.shape[1], -1)
