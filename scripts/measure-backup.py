#!/usr/bin/env python3
"""Backups while requests arrive: how long they take, what they store, what the service does meanwhile, and how long a restore takes.

usage: measure-backup.py PROGRAM [--per-second 5000] [--seconds 60] [--backups 3] [--fill GIB] [--bytes 1500] [--folder FOLDER]

Starts PROGRAM over a new folder, fills it to so many GiB, and posts requests of so many bytes at a steady rate as bulk creates, 50 ms of them a line of calls.
Meanwhile it takes backups, one after the other. At the end it restores each, which audits it, and looks for every request that was acknowledged before its stamp.
No engine is there, so everything waits.
"""
import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

# An account may have 16 bulk creates under way.
CONNECTIONS = 12
LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
WORDS = "what how many of the city river price answer because first night never green paper order table when they house".split()
SETTINGS = 'listen = "127.0.0.1:{port}"\n[[models]]\nname = "m"\n[[engines]]\nname = "away"\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
SETTINGS += "[quotas]\nlive_requests = 100000000\n"


def line(size):
    """A Create Request of about so many bytes: words, of which a third is left when it is compressed."""
    text = " ".join(random.choices(WORDS, k=size // 6))
    messages = [{"role": "user", "content": f"{random.random()} {text}"}]
    return json.dumps({"request_body": {"model": "m", "messages": messages, "max_tokens": 8}}).encode() + b"\n"


async def post(port, key, lines, acknowledged, turns):
    """One bulk create, in its turn; notes when each answer came. The moment is read behind the answer."""
    begun = time.monotonic()
    async with turns:
        refused = await post_now(port, key, lines, acknowledged)
    return time.monotonic() - begun, refused


async def post_now(port, key, lines, acknowledged):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b"".join(lines)
    head = f"POST /v1/requests HTTP/1.0\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    status = await reader.readline()
    if b" 200 " not in status:
        raise SystemExit(f"{status} {await reader.read()}")
    while (await reader.readline()).strip():
        pass
    refused = 0
    async for answer in reader:
        answer = json.loads(answer)
        if "id" in answer:
            acknowledged.append((time.time(), answer["id"]))
        else:
            refused += 1
    writer.close()
    return refused


async def load(port, key, bodies, per_second, until, acknowledged, figures):
    """Posts at a steady rate: each twentieth of a second its part, whatever the last one took."""
    tasks, start, sent, turns = set(), time.monotonic(), 0, asyncio.Semaphore(CONNECTIONS)
    while not until.is_set():
        due = int((time.monotonic() - start) * per_second)
        while sent < due:
            count = min(due - sent, per_second // 20)
            lines = [random.choice(bodies).replace(b"0.", b"%d." % (sent + number), 1) for number in range(count)]
            task = asyncio.create_task(post(port, key, lines, acknowledged, turns))
            task.add_done_callback(lambda done: (tasks.discard(done), figures.append((time.monotonic() - start, *done.result()))))
            tasks.add(task)
            sent += count
        await asyncio.sleep(0.01)
    await asyncio.gather(*tasks)


def bits(identifier):
    number = 0
    for letter in identifier.split("_")[1]:
        number = number * 32 + LETTERS.index(letter)
    return number.to_bytes(16, "big")


def settle(program, folder, *arguments):
    begun = time.monotonic()
    run = subprocess.run([program, *arguments, "--json"], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{arguments}: {run.stdout}{run.stderr}")
    return json.loads(run.stdout), time.monotonic() - begun


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] * 1e3 if values else 0


async def measure(options, folder):
    port = random.randint(20_000, 30_000)
    (folder / "overnight.toml").write_text(SETTINGS.format(port=port))
    service = subprocess.Popen([options.program, "serve", "--quiet"], cwd=folder, stderr=open(folder / "log", "w"))
    try:
        while not (folder / "overnight-data/serve.json").exists():
            await asyncio.sleep(0.05)
        key = (folder / "overnight-data/api-key").read_text().strip()
        bodies = [line(options.bytes) for _ in range(2_000)]
        database = folder / "overnight-data/overnight.db"
        while database.stat().st_size < options.fill * 2**30:
            await asyncio.gather(*(post_now(port, key, random.choices(bodies, k=2_000), []) for _ in range(CONNECTIONS)))
        until, acknowledged, figures = asyncio.Event(), [], []
        loading = asyncio.create_task(load(port, key, bodies, options.per_second, until, acknowledged, figures))
        begun, taken, backing_up = time.monotonic(), [], []
        await asyncio.sleep(options.seconds / (options.backups + 1))
        for _ in range(options.backups):
            at = time.monotonic() - begun
            backup, took = await asyncio.to_thread(settle, options.program, folder, "backup", "backups")
            log = os.path.getsize(f"{database}-wal")
            backing_up.append((at, at + took))
            taken.append(backup)
            print(f"backup: {backup['bytes'] / 1e6:.0f} MB in {took:.1f} s, {backup['new_bytes'] / 1e6:.0f} MB stored; the log has {log / 1e6:.0f} MB", flush=True)
            await asyncio.sleep(max(0, options.seconds / (options.backups + 1) - took))
        until.set()
        await loading
        seconds = time.monotonic() - begun
        print(f"load: {len(acknowledged)} acknowledged in {seconds:.1f} s, {len(acknowledged) / seconds:.0f} a second; {sum(refused for _, _, refused in figures)} refused")
        during = [took for at, took, _ in figures if any(first <= at <= last for first, last in backing_up)]
        beside = [took for at, took, _ in figures if not any(first <= at <= last for first, last in backing_up)]
        for name, calls in [("during backups", during), ("between them", beside)]:
            print(f"calls of {options.per_second // 20} requests {name}: {len(calls)}, p50 {percentile(calls, 0.5):.0f} ms, p99 {percentile(calls, 0.99):.0f} ms")
    finally:
        service.send_signal(signal.SIGKILL)
        service.wait()
    return taken, acknowledged


def check(options, folder, taken, acknowledged):
    for backup in taken:
        told, took = settle(options.program, folder, "restore", "backups", "--backup", backup["id"], "--data-dir", "restored")
        ids = {row[0] for row in sqlite3.connect(folder / "restored/overnight.db").execute("SELECT id FROM requests")}
        before = [identifier for at, identifier in acknowledged if at * 1e3 < backup["taken_at_ms"]]
        missing = sum(bits(identifier) not in ids for identifier in before)
        rate = backup["bytes"] / 1e6 / took
        print(f"restore: {backup['bytes'] / 1e6:.0f} MB in {took:.1f} s ({rate:.0f} MB/s), sound: {told['is_sound']}; of {len(before)} acknowledged before its stamp {missing} are missing", flush=True)
        shutil.rmtree(folder / "restored")
        if missing or not told["is_sound"]:
            raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--per-second", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--backups", type=int, default=3)
    parser.add_argument("--fill", type=float, default=0)
    parser.add_argument("--bytes", type=int, default=1_500)
    parser.add_argument("--folder", type=Path, help="where the folders are made [default: that of temporary files]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        taken, acknowledged = asyncio.run(measure(options, Path(folder)))
        check(options, Path(folder), taken, acknowledged)


if __name__ == "__main__":
    main()
