#!/usr/bin/env python3
"""Answers under a nested JSON schema beside as many tokens of free text: how many are valid, and the CPU of the engine's
process for each token. Needs Python's package jsonschema, and Linux.

usage: measure-forms.py ENGINE MODEL [ANSWERS] [ROUNDS]
e.g.   measure-forms.py target/release/overnight-engine assets/overnight-tiny.gguf 1000 2"""

import json, os, secrets, subprocess, sys, time, urllib.request
from concurrent.futures import ThreadPoolExecutor

import jsonschema

ENGINE, MODEL = sys.argv[1:3]
ANSWERS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
AT_ONCE, TOKENS_MAX = 16, 2000


def record(required, **properties):
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def text(**bounds):
    return {"type": "string", **bounds}


SCHEMA = record(
    "id customer items paid",
    id={"type": "integer", "minimum": 0, "maximum": 9999},
    customer=record(
        "name address contact",
        name=text(minLength=1, maxLength=24),
        address={"$ref": "#/$defs/place"},
        contact={"anyOf": [{"type": "null"}, record("email", email=text(maxLength=30))]},
    ),
    items={"type": "array", "minItems": 1, "maxItems": 4, "items": record(
        "sku quantity tags",
        sku=text(maxLength=12),
        quantity={"type": "integer", "minimum": 1, "maximum": 99},
        tags={"type": "array", "maxItems": 3, "items": {"enum": ["new", "used", "fragile"]}},
    )},
    paid={"type": "boolean"},
) | {"$defs": {"place": record("city zip", city=text(maxLength=20), zip=text(pattern="^[0-9]{5}$"))}}


class Engine:
    def __init__(self):
        self.key = secrets.token_hex(32)
        command = [ENGINE, "--model", MODEL, "--name", "m", "--threads", "1", "--context", "2048"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdin.write(json.dumps({"key": self.key}).encode() + b"\n")
        self.process.stdin.flush()
        self.address = json.loads(self.process.stdout.readline())["listening"]

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, body):
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        call = urllib.request.Request(f"http://{self.address}/v1/chat/completions", json.dumps(body).encode(), headers)
        return json.load(urllib.request.urlopen(call, timeout=900))

    def ask_all(self, bodies):
        before = self.cpu_seconds()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(self.ask, bodies))
        return answers, self.cpu_seconds() - before

    def wait(self):
        while True:
            try:
                return self.ask(body(0, max_tokens=1))
            except OSError:
                time.sleep(0.2)


def body(number, **fields):
    prompt = f"Write order number {number} as JSON."
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], "temperature": 1, **fields}


def is_valid(answer):
    try:
        jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), SCHEMA)
        return True
    except (ValueError, jsonschema.ValidationError):
        return False


engine = Engine()
engine.wait()
for number in range(ROUNDS):
    form = {"type": "json_schema", "json_schema": {"name": "order", "schema": SCHEMA, "strict": True}}
    formed, formed_cpu = engine.ask_all(
        [body(number, max_tokens=TOKENS_MAX, response_format=form) for number in range(ANSWERS)])
    lengths = [answer["usage"]["completion_tokens"] for answer in formed]
    free, free_cpu = engine.ask_all(
        [body(number, max_tokens=length, ignore_eos=True) for number, length in enumerate(lengths)])
    free_tokens = sum(answer["usage"]["completion_tokens"] for answer in free)
    formed_us, free_us = formed_cpu / sum(lengths) * 1e6, free_cpu / free_tokens * 1e6
    print(f"{sum(map(is_valid, formed))} of {ANSWERS} valid, {sum(lengths)} tokens; "
          f"{formed_us:.0f} us of CPU a token, free text {free_us:.0f} us, ratio {formed_us / free_us:.2f}", flush=True)
engine.process.stdin.close()
engine.process.wait()
