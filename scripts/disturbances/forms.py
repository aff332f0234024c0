"""Forms of answers that would cost an embedded engine minutes and gigabytes, beside the plain questions of an honest account."""
import asyncio
import collections
import contextlib
import json
import multiprocessing
import os
import tempfile
import time

from .abusers import NICENESS
from .clients import Client
from .honest import Figures, quantile
from .services import Service

NAME = "costly-forms"
ENGINE = '[[engines]]\nname = "e"\nkind = "embedded"\nthreads = 1\n'
# An answer is waited for in steps of 200 ms, so few askers would not keep the engine busy.
ASKERS = 64
ABUSERS, CHOICES = 8, 8
# So long that no grammar ends before it costs too much.
LENGTH = {"min_tokens": 32}
ROUNDS = 3
# What stays in memory when the forms are gone, in MiB.
KEPT_MAX_MIB = 64
# The share of the throughput beside plain requests, and p99 in times of alone.
THROUGHPUT_MIN, P99_TIMES_MAX, P99_MS = 0.8, 3, 100
COLUMNS = ("beside", "answers a second", "p50 ms", "p99", "peak MiB of the engine", "after it", "answers to the other account")
# The other account has a right to its share of the engine: costly forms count against as many plain requests of that account.
PLAIN = "plain requests"
processes = multiprocessing.get_context("fork")


def ambiguous():
    """Few rules, of which each place of an answer has thousands."""
    rules = "\n".join(f's{rule}: s s{(rule * 7 + 1) % 300} | | "a"' for rule in range(300))
    return f"start: s\ns: {' | '.join(f's s{rule} s' for rule in range(300))} | \"a\"\n{rules}"


def costly_forms():
    """Each within the limit of a request's length."""
    names = {f"^x{number}_.*a.{{10}}$": {"type": "string"} for number in range(800)}
    patterns = [{"type": "string", "pattern": f"[a{number % 10}].{{{20 + number}}}b"} for number in range(300)]
    return [
        {"guided_json": {"anyOf": [{"type": "integer", "multipleOf": 9_999 - number} for number in range(1_500)]}},
        {"guided_json": {"type": "object", "patternProperties": names}},
        {"guided_json": {"allOf": patterns}},
        {"guided_grammar": "start: A\nA: ~/(.*a.{40})/ & ~/(.*b.{50}.*)/ & /(.*c.{60})/"},
        {"guided_grammar": ambiguous(), "n": CHOICES},
    ]


FORMS = {PLAIN: [{"n": form.get("n", 1)} for form in costly_forms()], NAME: costly_forms()}


async def ask(client, content, **fields):
    """The status of a chat that is waited for."""
    body = {"model": "m", "max_tokens": 32, "messages": [{"role": "user", "content": content}], **fields}
    more = "Content-Type: application/json\r\n"
    status, _ = await client.call("POST", "/openai/v1/chat/completions", json.dumps(body).encode(), 120, more)
    return status


async def abuse(client, forms, stop):
    outcomes = collections.Counter()

    async def one(place):
        while not stop.is_set():
            for form in forms[place % len(forms):]:
                with contextlib.suppress(OSError, asyncio.TimeoutError):
                    outcomes[await ask(client, f"form {place}", **form, **LENGTH)] += 1
                if stop.is_set():
                    return

    await asyncio.gather(*(one(place) for place in range(ABUSERS)))
    return outcomes


def run_abuse(client, forms, stop, outcomes):
    os.nice(NICENESS)
    outcomes.put(asyncio.run(abuse(client, forms, stop)))


async def questions(client, figures, seconds):
    """Plain questions, one after another; the rate of their answers."""
    start, before = time.monotonic(), figures.sent

    async def one(place):
        while time.monotonic() - start < seconds:
            began_at = time.monotonic()
            status = await ask(client, f"What is {figures.sent} and {place}?")
            figures.sent += 1
            figures.reads.append((time.monotonic() - began_at) * 1e3)
            if status != 200:
                figures.refused[status] += 1

    await asyncio.gather(*(one(place) for place in range(ASKERS)))
    return (figures.sent - before) / (time.monotonic() - start)


def memory_mib(root):
    """The resident memory of all processes below one."""
    parents, sizes = {}, {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = open(f"/proc/{number}/stat").read().rsplit(")", 1)[1].split()
            parents[int(number)], sizes[int(number)] = int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE") >> 20
    below = lambda number: number in parents and (parents[number] == root or below(parents[number]))
    return sum(size for number, size in sizes.items() if below(number))


async def watch(root, peak, work):
    """The outcome of `work`, and the most memory meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        peak = max(peak, memory_mib(root))
        await asyncio.wait([task], timeout=0.1)
    return await task, peak


def measure_one(service, honest, abusive, figures, seconds):
    """One phase: the rate of answers, the peak of memory, and what came of the other account's requests."""
    stop, outcomes = processes.Event(), processes.Queue()
    forms = FORMS.get(figures.name)
    process = processes.Process(target=run_abuse, args=(abusive, forms, stop, outcomes), daemon=True)
    if forms:
        process.start()
        time.sleep(min(1.0, seconds / 2))
    rate, peak = asyncio.run(watch(service.process.pid, 0, questions(honest, figures, seconds)))
    if not forms:
        return rate, peak, collections.Counter()
    stop.set()
    came_of_it = outcomes.get(timeout=180)
    process.join()
    return rate, peak, came_of_it


def measure(options, verdict):
    with tempfile.TemporaryDirectory(prefix="disturb-forms-") as folder:
        service = Service(options.program, folder, 0, None, timeout=2, engine=ENGINE)
        try:
            service.wait_for_start()
            honest, abusive = (Client.with_key(service.port, address, service.account(name)[1])
                               for name, address in (("honest", "127.0.0.1"), ("abusive", "127.0.1.1")))
            asyncio.run(ask(honest, "Does the engine run?"))
            judge(verdict, service, *phases(options, service, honest, abusive))
        finally:
            service.stop()


def phases(options, service, honest, abusive):
    figures = {name: Figures(name) for name in ("alone", PLAIN, NAME)}
    found, seconds = collections.defaultdict(list), max(options.seconds, 3)
    for _ in range(1 if options.short else ROUNDS):
        for name, figure in figures.items():
            found[name].append((*measure_one(service, honest, abusive, figure, seconds), memory_mib(service.process.pid)))
    rates = {name: sum(rate for rate, *_ in each) / len(each) for name, each in found.items()}
    print("\n| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for name, figure in figures.items():
        peak, kept = max(peak for _, peak, _, _ in found[name]), found[name][-1][3]
        ended = sum((outcomes for _, _, outcomes, _ in found[name]), collections.Counter())
        print(f"| {name} | {rates[name]:.1f} | {quantile(figure.reads, 0.5):.0f} | {quantile(figure.reads, 0.99):.0f} | {peak} | {kept} | "
              f"{dict(ended) or ''} |", flush=True)
    print()
    return figures, rates, found


def judge(verdict, service, figures, rates, found):
    alone, beside = figures["alone"], figures[NAME]
    refused = {it.name: dict(it.refused) for it in figures.values() if it.refused}
    verdict.judge(not refused, "every plain question is answered", refused or "all")
    ended = sum((outcomes for _, _, outcomes, _ in found[NAME]), collections.Counter())
    verdict.judge(ended and not set(ended) - {400, 422}, "every costly form is refused or fails", dict(ended))
    kept = found[NAME][-1][3] - found["alone"][0][3]
    verdict.judge(kept <= KEPT_MAX_MIB, f"the engine keeps at most {KEPT_MAX_MIB} MiB", f"{kept} MiB")
    part = rates[NAME] / rates[PLAIN]
    verdict.judge(part >= THROUGHPUT_MIN, f"plain questions: at least 80 % of the throughput beside {PLAIN}", f"{part:.0%}", is_time=True)
    most = max(P99_TIMES_MAX * quantile(alone.reads, 0.99), P99_MS)
    slow = quantile(beside.reads, 0.99)
    verdict.judge(slow <= most, f"plain questions: p99 of at most {most:.0f} ms", f"{slow:.0f} ms", is_time=True)
    verdict.judge(not service.said("panicked"), "nothing panics", "no panic")
