#!/usr/bin/env python3
"""A large file of batch lines: memory of the service, time until its batch runs, deletion of the file meanwhile, and bad lines.

usage: measure-file.py PROGRAM [LINES] [MEGABYTES]

Starts PROGRAM (`overnight`, with `overnight-engine` beside it) on SQLite in a folder of its own, with `batch_requests` = LINES
(250000) and no billing. Uploads a file of MEGABYTES (500), makes a batch of it, deletes the file once requests run, and waits until
every line is a request. Then the same file with ten bad lines. Ends with 1 where a goal is missed: under 150 MiB of memory, the
first requests in progress within 5 s, all ten bad lines named and none of their batch run.
"""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAD_LINES = 10
BOUNDARY = "a-boundary-of-measure-file"
SETTINGS = """listen = "127.0.0.1:0"
data_dir = "data"
aggregation_period = "1s"
[limits]
batch_requests = {lines}
[quotas]
live_requests = 10000000
[[models]]
name = "overnight-tiny"
[[engines]]
name = "local"
kind = "embedded"
models = {{ "overnight-tiny" = "overnight-tiny" }}
"""


class Service:
    def __init__(self, program, folder, lines):
        Path(folder, "overnight.toml").write_text(SETTINGS.format(lines=lines))
        command = [os.path.abspath(program), "serve", "--json", "--quiet"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
        url = json.loads(self.process.stdout.readline())["url"]
        self.address = url.removeprefix("http://")
        self.key = Path(folder, "data/api-key").read_text().strip()

    def call(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection(self.address, timeout=600)
        headers = {"Authorization": f"Bearer {self.key}", **dict(headers)}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            sys.exit(f"{method} {path}: {response.status} {answer}")
        return answer

    def memory_mib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def count_released(self):
        """How many requests are or were in the queue."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode().splitlines()
        names = ("overnight_requests_waiting{", "overnight_requests_ended_total{outcome=\"completed\"}")
        return sum(float(line.split()[-1]) for line in metrics if line.startswith(names))

    def upload(self, path):
        head = (f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n"
                "Content-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n").encode()
        tail = f"\r\n--{BOUNDARY}--\r\n".encode()

        def parts():
            yield head
            with open(path, "rb") as file:
                while block := file.read(1 << 16):
                    yield block
            yield tail

        length = len(head) + os.path.getsize(path) + len(tail)
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(length)}
        return self.call("POST", "/openai/v1/files", parts(), headers)

    def make_batch(self, file):
        terms = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return self.call("POST", "/openai/v1/batches", terms)


def write_file(path, lines, line_bytes, bad=()):
    with open(path, "w") as file:
        for number in range(1, lines + 1):
            body = {"model": "overnight-tiny", "max_tokens": 1, "messages": [{"role": "user", "content": ""}]}
            line = {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            missing = line_bytes - len(json.dumps(line)) - 1
            body["messages"][0]["content"] = "lorem ipsum dolor " * (missing // 18) + "x" * (missing % 18)
            if number in bad:
                del body["messages"]
            file.write(json.dumps(line) + "\n")


def wait(what, pause):
    start = time.monotonic()
    while not what():
        if time.monotonic() - start > 600:
            sys.exit("what is awaited does not happen in 600 s")
        time.sleep(pause)
    return time.monotonic() - start


def main(program, lines="250000", megabytes="500"):
    lines, misses = int(lines), []

    def judge(holds, text):
        print(text if holds else f"{text}: MISSED", flush=True)
        if not holds:
            misses.append(text)

    with tempfile.TemporaryDirectory() as folder:
        good, faulty = Path(folder, "good.jsonl"), Path(folder, "faulty.jsonl")
        bad = [1 + number * (lines - 1) // (BAD_LINES - 1) for number in range(BAD_LINES)]
        write_file(good, lines, int(megabytes) * 1_000_000 // lines)
        write_file(faulty, lines, int(megabytes) * 1_000_000 // lines, bad)
        service = Service(program, folder, lines)
        try:
            batch = measure(service, good, lines, judge)
            start = time.monotonic()
            refused = service.make_batch(service.upload(faulty))
            named = [fault["line"] for fault in refused["errors"]["data"]]
            judge((refused["status"], named, refused["request_counts"]["total"]) == ("failed", bad, 0),
                  f"bad lines: {refused['status']}, {named} named, in {time.monotonic() - start:.1f} s")
            judge(service.memory_mib() < 150, f"memory at most, in all: {service.memory_mib():.0f} MiB")
            listed = len(service.call("GET", batch)["requests_ids"])
            judge(listed == lines, f"requests of the batch: {listed}")
        finally:
            service.process.terminate()
            service.process.wait()
    sys.exit(1 if misses else 0)


def measure(service, path, lines, judge):
    print(f"memory at the start: {service.memory_mib():.0f} MiB", flush=True)
    start = time.monotonic()
    file = service.upload(path)
    print(f"{os.path.getsize(path)} bytes, {lines} lines uploaded and checked in {time.monotonic() - start:.1f} s", flush=True)
    judge(service.memory_mib() < 150, f"memory at most, after the upload: {service.memory_mib():.0f} MiB")
    batch = f"/v1/batches/{service.make_batch(file)['id']}"
    start = time.monotonic()
    first = wait(lambda: service.call("GET", f"{batch}/status")["status"] != "registered", 0.05)
    judge(first < 5, f"first requests in progress after {first:.1f} s")
    service.call("DELETE", f"/openai/v1/files/{file['id']}")
    # Their identifiers are megabytes: they are read once everything was measured.
    wait(lambda: service.count_released() >= lines, 1)
    print(f"all lines are requests after {time.monotonic() - start:.1f} s, with the file deleted meanwhile", flush=True)
    counts = service.call("GET", f"{batch}/status")["requests_counts"]
    judge(counts["total"] == lines and counts["failed"] + counts["cancelled"] == 0, f"the batch: {counts}")
    judge(service.memory_mib() < 150, f"memory at most, while it was filled: {service.memory_mib():.0f} MiB")
    return batch


if __name__ == "__main__":
    main(*sys.argv[1:])
