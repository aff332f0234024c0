"""Trains the tokenizer and the network on the corpus: `python train.py BUILD_DIR`. One thread, one seed."""

import json
import math
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from corpus import conversations
from model import Shape, forward, initial_weights
from tokenizer import SPECIALS, Tokenizer, learn_merges

SEED = 2400
CONVERSATIONS = 60000
STEPS = 1400
BATCH_TOKENS = 4096
PEAK_RATE = 3e-3
WARM_UP_STEPS = 40
PROMPT_WEIGHT = 0.1
GAP_SHARE = 0.4


def encode_conversation(tokenizer, turns):
    """Ids of a conversation, the weight of each id as a target, and where its last question begins."""
    ids, weights, last_question = [], [], 0
    for role, content in turns:
        if role == "user":
            last_question = len(ids)
        turn = tokenizer.encode_turn(role, content)
        opening = 1 + len(tokenizer.encode(f"{role}\n"))
        learned = 1.0 if role == "assistant" else PROMPT_WEIGHT
        # The opening and the newline after the end marker are written by the template, not by the model.
        weights += [0.0] * opening + [learned] * (len(turn) - opening - 1) + [0.0]
        ids += turn
    return ids, weights, last_question


def batches(examples, chance):
    """Endless batches of about BATCH_TOKENS, of neighbours in length, in a random order."""
    while True:
        order = sorted(range(len(examples)), key=lambda number: (len(examples[number][0]), chance.random()))
        groups, group = [], []
        for number in order:
            if group and len(examples[number][0]) * (len(group) + 1) > BATCH_TOKENS:
                groups.append(group)
                group = []
            group.append(examples[number])
        chance.shuffle(groups)
        yield from groups


def as_tensors(group, context, chance):
    """Padded ids, positions and target weights.

    Some rows jump ahead in position at their last question, so that short rows also teach long distances.
    """
    length = max(len(ids) for ids, _, _ in group)
    ids = torch.zeros(len(group), length, dtype=torch.long)
    weights = torch.zeros(len(group), length)
    positions = torch.arange(length).repeat(len(group), 1)
    for row, (row_ids, row_weights, last_question) in enumerate(group):
        ids[row, : len(row_ids)] = torch.tensor(row_ids)
        weights[row, : len(row_ids)] = torch.tensor(row_weights)
        if chance.random() < GAP_SHARE:
            positions[row, last_question:] += chance.randrange(context - length)
    return ids, positions, weights


def rate_at(step):
    """Share of the peak learning rate: a short warm-up, then half a cosine down to a fiftieth."""
    if step < WARM_UP_STEPS:
        return (step + 1) / WARM_UP_STEPS
    done = (step - WARM_UP_STEPS) / max(1, STEPS - WARM_UP_STEPS)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))


def optimizer_of(weights):
    """AdamW, with decay for the matrices only."""
    matrices = [value for value in weights.values() if value.dim() == 2]
    vectors = [value for value in weights.values() if value.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.95))


def loss_of(shape, weights, ids, positions, target_weights):
    """Mean cross entropy of the next token, in nats, weighted by target."""
    logits = forward(shape, weights, ids[:, :-1], positions[:, :-1])
    losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    scale = target_weights[:, 1:].flatten()
    return (losses * scale).sum() / scale.sum()


def train(shape, examples):
    """Weights after STEPS steps."""
    chance = random.Random(SEED)
    weights = initial_weights(shape)
    optimizer = optimizer_of(weights)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_at)
    started, recent = time.monotonic(), []
    for step, group in zip(range(STEPS), batches(examples, chance)):
        loss = loss_of(shape, weights, *as_tensors(group, shape.context, chance))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        recent = [*recent[-49:], loss.item()]
        if (step + 1) % 50 == 0:
            seconds = time.monotonic() - started
            print(f"step {step + 1}/{STEPS}  loss {sum(recent) / len(recent):.4f}  {seconds:.0f} s", flush=True)
    return weights


def main(build):
    """Leaves merges.json and weights.npz in `build`."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    shape = Shape()
    corpus = conversations(SEED, CONVERSATIONS)
    merges = learn_merges((content for turns in corpus for _, content in turns), shape.vocabulary - 256 - len(SPECIALS))
    tokenizer = Tokenizer(merges)
    examples = [encode_conversation(tokenizer, turns) for turns in corpus]
    characters = sum(len(content) for turns in corpus for _, content in turns)
    print(f"{characters} characters, {sum(len(ids) for ids, _, _ in examples)} tokens")
    weights = train(shape, examples)
    build.mkdir(parents=True, exist_ok=True)
    (build / "merges.json").write_text(json.dumps(merges))
    np.savez(build / "weights.npz", **{name: value.detach().numpy() for name, value in weights.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
