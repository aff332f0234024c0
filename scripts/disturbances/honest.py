"""The honest account: creates and reads at a steady rate."""
import asyncio
import collections
import dataclasses
import time

from .clients import id_in

# Reads of many requests at once, after the load.
READERS = 8


@dataclasses.dataclass
class Figures:
    """What one phase showed. Latencies are in milliseconds, from the moment at which the call was due."""

    name: str
    sent: int = 0
    completed: int = 0
    creates: list = dataclasses.field(default_factory=list)
    reads: list = dataclasses.field(default_factory=list)
    # Calls that were not answered with success: a status, or how they failed.
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    peak_mib: int = 0
    # Engine replicas that were paused at its end.
    paused: float = 0

    def latencies(self):
        """p50 and p99 of creates, then of reads."""
        return [quantile(values, part) for values in (self.creates, self.reads) for part in (0.5, 0.99)]


def quantile(values, part):
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


async def load(client, figures, per_second, seconds, patience):
    """Sends the load, and counts what completed: after `patience[0]` seconds, or as soon as everything has, within `patience[1]`."""
    ids, tasks, start = [], [], time.monotonic()
    figures.sent = int(per_second * seconds)

    async def call(latencies, due_at, expected, work):
        try:
            status, answer = await work
        except Exception as error:
            figures.refused[type(error).__name__] += 1
            return None
        latencies.append((time.monotonic() - due_at) * 1e3)
        if status != expected:
            figures.refused[status] += 1
            return None
        return answer

    async def one(due_at, number):
        answer = await call(figures.creates, due_at, 201, client.create(f"honest {start} {number}"))
        if answer:
            ids.append(id_in(answer))
        await call(figures.reads, time.monotonic(), 200, client.call("GET", "/v1/account"))

    for number in range(figures.sent):
        due_at = start + number / per_second
        await asyncio.sleep(max(0.0, due_at - time.monotonic()))
        tasks.append(asyncio.create_task(one(due_at, number)))
    await asyncio.gather(*tasks)
    least, most = patience
    sent_at, left = time.monotonic(), ids
    await asyncio.sleep(least)
    while True:
        left = await unfinished(client, left, figures)
        figures.completed = len(ids) - len(left)
        if not left or time.monotonic() - sent_at >= most:
            return
        await asyncio.sleep(0.2)


async def unfinished(client, ids, figures):
    """Those of the requests that have not completed."""
    left, waiting = [], list(ids)

    async def read():
        while waiting:
            id = waiting.pop()
            try:
                status, answer = await client.call("GET", f"/v1/requests/{id}/status")
            except Exception as error:
                figures.refused[type(error).__name__] += 1
                status, answer = 0, b""
            if status not in (0, 200):
                figures.refused[status] += 1
            if b'"completed"' not in answer:
                left.append(id)
    await asyncio.gather(*(read() for _ in range(READERS)))
    return left
