#!/usr/bin/env python3
"""Tokens per CPU second of overnight-engine and of llama-server, on one thread each, over HTTP.

    ./scripts/compare-engines.py OVERNIGHT_ENGINE LLAMA_SERVER MODEL.gguf [ROUNDS]

Each round measures every work on each server, in alternating order; a server is started anew for each work, so its caches are
empty. llama-server is started in several ways, and the best median of them counts. Every answer has 48 tokens. Linux only.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

TOKENS = 48
WORDS = "a document that many questions are asked about at night when machines are idle and nobody waits ".split()


def words(count, seed):
    return " ".join(WORDS[(seed * 7 + at * (seed % 5 + 1)) % len(WORDS)] + (str(seed) if at % 9 == 0 else "") for at in range(count))


def shared(count):
    head = words(330, 1)
    return [f"{head} Question {number}: what does it say of {number}?" for number in range(count)]


# Each work: its prompts, and whether all of them are sent at once.
WORKS = {
    "8 requests that share about 450 tokens": (shared(8), True),
    "32 requests that share about 450 tokens": (shared(32), True),
    "24 distinct prompts of about 200 tokens": ([words(130, 11 + number) for number in range(24)], True),
    "8 distinct prompts, one at a time": ([words(130, 101 + number) for number in range(8)], False),
    "64 distinct prompts of about 30 tokens": ([words(20, 201 + number) for number in range(64)], True),
}


class Server:
    def __init__(self, process, url, key):
        self.process, self.url, self.key = process, url, key

    def ask(self, prompt):
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "max_tokens": TOKENS,
                "temperature": 0, "ignore_eos": True, "cache_prompt": True}
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=900) as answer:
            tokens = json.load(answer)["usage"]["completion_tokens"]
        assert tokens == TOKENS, f"an answer has {tokens} tokens"

    def wait(self):
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"{self.url}/health", timeout=5).status == 200:
                    return self
            except OSError:
                time.sleep(0.1)
        raise SystemExit("a server does not come up")

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.kill()
        self.process.wait()


def start_overnight(program, model, extra):
    command = [program, "--model", model, "--name", "m", "--threads", "1", *extra]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    key = "00" * 32
    process.stdin.write(json.dumps({"key": key}).encode() + b"\n")
    process.stdin.flush()
    address = json.loads(process.stdout.readline())["listening"]
    return Server(process, f"http://{address}", key).wait()


def start_llama(program, model, extra):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--model", model, "--host", "127.0.0.1", "--port", str(port), "--threads", "1", "--threads-http", "2", *extra]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Server(process, f"http://127.0.0.1:{port}", "none").wait()


def measure(start, prompts, at_once):
    server = start()
    try:
        server.ask("warm up")
        before = server.cpu()
        if at_once:
            threads = [threading.Thread(target=server.ask, args=(prompt,)) for prompt in prompts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            for prompt in prompts:
                server.ask(prompt)
        return TOKENS * len(prompts) / (server.cpu() - before)
    finally:
        server.stop()


def main():
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    overnight, llama, model = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    ways = {
        "overnight-engine": lambda: start_overnight(overnight, model, []),
        "llama-server --parallel 1": lambda: start_llama(llama, model, ["--parallel", "1", "--ctx-size", "4096", "--flash-attn", "on"]),
        "llama-server --parallel 8": lambda: start_llama(
            llama, model, ["--parallel", "8", "--ctx-size", "16384", "--kv-unified", "--flash-attn", "on"]),
        "llama-server --parallel 16": lambda: start_llama(
            llama, model, ["--parallel", "16", "--ctx-size", "32768", "--kv-unified", "--flash-attn", "on"]),
    }
    found = {work: {way: [] for way in ways} for work in WORKS}
    for number in range(rounds):
        for work, (prompts, at_once) in WORKS.items():
            for way in list(ways)[:: 1 if number % 2 == 0 else -1]:
                found[work][way].append(measure(ways[way], prompts, at_once))
    for work, by_way in found.items():
        print(f"\n{work}: generated tokens per CPU second, median (lowest to highest) of {rounds}")
        medians = {way: statistics.median(values) for way, values in by_way.items()}
        for way, values in by_way.items():
            print(f"  {way:<28} {medians[way]:8.1f} ({min(values):.1f} to {max(values):.1f})")
        best = max(value for way, value in medians.items() if way.startswith("llama"))
        print(f"  {'ratio to the best of llama-server':<28} {medians['overnight-engine'] / best:.2f}")


if __name__ == "__main__":
    main()
