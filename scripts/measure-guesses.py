#!/usr/bin/env python3
"""Can an account find out what another one sent? A victim sends a long prompt, then an attacker the same or another one of the same length.
Prints how often the answer's `usage` and how well its time tell them apart (AUC: 0.5 is chance, 1 is always).

The engine is the embedded one, or one of the OpenAI API.

e.g.   measure-guesses.py target/release/overnight
       measure-guesses.py target/release/overnight --engine http://127.0.0.1:8000/v1 --model smollm2-135m-instruct"""

import argparse, json, os, random, subprocess, sys, tempfile, time, urllib.request
from statistics import median

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("program", metavar="PROGRAM", type=os.path.abspath, help="a built `overnight`")
PARSER.add_argument("--guesses", type=int, default=200, help="how many, half of them right (200)")
PARSER.add_argument("--words", type=int, default=600, help="the length of a prompt (600)")
PARSER.add_argument("--shared-cache", action="store_true", help="with `shared_cache = true`: right guesses must be told apart")
PARSER.add_argument("--engine", metavar="URL", help="the base URL of an engine that runs; otherwise the embedded one")
PARSER.add_argument("--model", default="m", help="the name of its model")
OPTIONS = PARSER.parse_args()
WORDS = "night queue engine letter river stone market window paper garden signal copper winter silver harbour mountain".split()
SETTINGS = f"""listen = "127.0.0.1:0"
aggregation_period = "50ms"
linger = "0s"
models = [{{ name = "{OPTIONS.model}", shared_cache = {str(OPTIONS.shared_cache).lower()} }}]
billing = {{ enabled = false }}
[[engines]]
name = "local"
""" + (f'kind = "openai"\nbase_url = "{OPTIONS.engine}"\n' if OPTIONS.engine else 'kind = "embedded"\nthreads = 1\n')


def prompt():
    return " ".join(random.choices(WORDS, k=OPTIONS.words))


def ask(url, key, content):
    """The seconds that an answer takes, and its usage."""
    body = {"model": OPTIONS.model, "max_tokens": 1, "temperature": 0, "messages": [{"role": "user", "content": content}]}
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
    for number in range(OPTIONS.guesses):
        secret = prompt()
        ask(url, victim, secret)
        is_right = number % 2 == 0
        seconds, usage = ask(url, attacker, secret if is_right else prompt())
        times[is_right].append(seconds)
        cached[is_right].append((usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
    for is_right, name in (True, "right guesses"), (False, "wrong guesses"):
        told = [count for count in cached[is_right] if count is not None]
        print(f"cached_tokens of {name}: {f'{min(told)} to {max(told)}' if told else 'not told'}")
    print(f"median: right guesses {median(times[True]) * 1e3:.1f} ms, wrong ones {median(times[False]) * 1e3:.1f} ms")
    print(f"AUC of the time: {auc(times[True], times[False]):.2f} over {OPTIONS.guesses} guesses")


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/overnight.toml", "w") as file:
            file.write(SETTINGS)
        service = subprocess.Popen([OPTIONS.program, "serve"], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(f"{folder}/overnight-data/serve.json"):
                if service.poll() is not None:
                    sys.exit("The service did not start.")
                time.sleep(0.1)
            with open(f"{folder}/overnight-data/serve.json") as file:
                url = json.load(file)["url"]
            run = lambda *words: subprocess.run([OPTIONS.program, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
            account = json.loads(run("account", "create", "--name", "victim", "--json"))["id"]
            victim = json.loads(run("key", "create", "--account", account, "--json"))["key"]
            with open(f"{folder}/overnight-data/api-key") as file:
                attacker = file.read().strip()
            measure(url, attacker, victim)
        finally:
            service.terminate()
            service.wait()


main()
