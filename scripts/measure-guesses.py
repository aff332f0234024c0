#!/usr/bin/env python3
"""Can an account find out what another one sent? A victim sends a long prompt, then an attacker the same or another one of the same length.
Prints how often the answer's `usage` and how well its time tell them apart (AUC: 0.5 is chance, 1 is always).

usage: measure-guesses.py PROGRAM [GUESSES] [--shared-cache]
e.g.   measure-guesses.py target/release/overnight 200"""

import json, os, random, subprocess, sys, tempfile, time, urllib.request
from statistics import median

ARGUMENTS = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
PROGRAM, GUESSES = os.path.abspath(ARGUMENTS[0]), int(ARGUMENTS[1]) if len(ARGUMENTS) > 1 else 200
SHARED = "--shared-cache" in sys.argv
WORDS = "night queue engine letter river stone market window paper garden signal copper winter silver harbour mountain".split()
SETTINGS = f"""listen = "127.0.0.1:0"
aggregation_period = "50ms"
linger = "0s"
models = [{{ name = "m", shared_cache = {str(SHARED).lower()} }}]
billing = {{ enabled = false }}
[[engines]]
name = "local"
kind = "embedded"
threads = 1
"""


def prompt():
    return " ".join(random.choices(WORDS, k=600))


def ask(url, key, content):
    """The seconds that an answer takes, and its usage."""
    body = {"model": "m", "max_tokens": 1, "temperature": 0, "messages": [{"role": "user", "content": content}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/openai/v1/chat/completions", json.dumps(body).encode(), headers)
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=120) as answer:
        usage = json.load(answer)["usage"]
    return time.perf_counter() - began, usage


def auc(right, wrong):
    """How often a right guess is answered sooner than a wrong one."""
    return sum((one < other) + (one == other) / 2 for one in right for other in wrong) / (len(right) * len(wrong))


def measure(url, attacker, victim):
    times, cached = {True: [], False: []}, {True: [], False: []}
    for number in range(GUESSES):
        secret = prompt()
        ask(url, victim, secret)
        is_right = number % 2 == 0
        seconds, usage = ask(url, attacker, secret if is_right else prompt())
        times[is_right].append(seconds)
        cached[is_right].append(usage.get("prompt_tokens_details", {}).get("cached_tokens"))
    for is_right, name in (True, "right guesses"), (False, "wrong guesses"):
        told = [count for count in cached[is_right] if count is not None]
        print(f"cached_tokens of {name}: {f'{min(told)} to {max(told)}' if told else 'not told'}")
    print(f"median: right guesses {median(times[True]) * 1e3:.1f} ms, wrong ones {median(times[False]) * 1e3:.1f} ms")
    print(f"AUC of the time: {auc(times[True], times[False]):.2f} over {GUESSES} guesses")


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/overnight.toml", "w") as file:
            file.write(SETTINGS)
        service = subprocess.Popen([PROGRAM, "serve"], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(f"{folder}/overnight-data/serve.json"):
                if service.poll() is not None:
                    sys.exit("The service did not start.")
                time.sleep(0.1)
            with open(f"{folder}/overnight-data/serve.json") as file:
                url = json.load(file)["url"]
            run = lambda *words: subprocess.run([PROGRAM, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
            account = json.loads(run("account", "create", "--name", "victim", "--json"))["id"]
            victim = json.loads(run("key", "create", "--account", account, "--json"))["key"]
            with open(f"{folder}/overnight-data/api-key") as file:
                attacker = file.read().strip()
            measure(url, attacker, victim)
        finally:
            service.terminate()
            service.wait()


main()
