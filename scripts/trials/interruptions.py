"""Trials of what is interrupted: cancels, kills, late starts, wrong names. Each takes the service and its engine."""
import json
import os
import re
import signal
import subprocess
import time

from .answers import ask, words
from .outcomes import DoesNotApply, NotSupported, check, stopping, wait_until
from .services import MODEL, PATIENCE, Service

STORIES = 16


def the_engine_starts_last(service, engine):
    """The service runs already, without its engine. What was sent before it knew so is in progress; what is sent later is not."""
    if engine.is_embedded:
        raise DoesNotApply("the service itself starts it, under the name of the settings")
    bodies = [ask("Hello."), ask("Who are you?"), ask("Bye.")]
    try:
        batches = [service.submit(bodies)]
        wait_until(lambda: service.metric("overnight_engine_paused") == 1, 30, "the engine is not paused")
        batches.append(service.submit(bodies))
        wait_until(lambda: service.waiting_for() == "engines_paused", 30, "`waiting_for` does not say `engines_paused`")
        check(not any(service.counts(batch)["failed"] for batch in batches), "a request failed")
    finally:
        engine.start()
    began = time.monotonic()
    is_done = lambda: all(service.counts(batch)["completed"] == 3 for batch in batches)
    wait_until(is_done, PATIENCE, "not all complete")
    return f"`waiting_for` said `engines_paused`; all 6 completed {time.monotonic() - began:.0f} s after the engine was up"


def long_prompts(engine):
    """Their answers take so long that a kill or a cancel meets requests in flight."""
    story = "Write a long story about the number {}."
    return [ask(story.format(number), max_tokens=engine.long_answer, temperature=0.8) for number in range(STORIES)]


def a_cancel(service, engine):
    batch = service.submit(long_prompts(engine))
    in_flight = lambda: service.metric("overnight_engine_requests_in_flight")
    wait_until(lambda: in_flight() >= 2 and engine.running() != 0, 60, "nothing is in flight")
    service.run("cancel", batch)
    began = time.monotonic()
    wait_until(lambda: in_flight() == 0, 30, "requests are in flight at the service")
    ours = time.monotonic() - began
    wait_until(lambda: not engine.running(), 60, "requests run in the engine")
    counts = service.counts(batch)
    check(counts["cancelled"] + counts["completed"] == STORIES, f"{counts}")
    theirs = f"{time.monotonic() - began:.1f} s in the engine's metrics" if engine.running() is not None else "the engine does not tell its load"
    return f"{counts['cancelled']} of {STORIES} cancelled; none in flight after {ours:.1f} s, {theirs}"


def a_kill_and_a_restart(service, engine):
    batch = service.submit(long_prompts(engine))
    wait_until(lambda: service.counts(batch)["completed"] >= 3, PATIENCE, "nothing completes")
    done = service.counts(batch)["completed"]
    engine.kill(service)
    time.sleep(3)
    if not engine.is_embedded:
        engine.start()
    wait_until(lambda: service.run("status", batch)["status"] == "completed", PATIENCE, "not all end")
    records = service.records(batch)
    check(service.counts(batch)["completed"] == STORIES, f"{service.counts(batch)}")
    check(len({record["id"] for record in records}) == len(records) == STORIES, "a result is there twice")
    attempts = sum(len(record.get("attempts", [])) for record in records)
    audit = service.run("audit", codes=(0, 1))
    check(audit["is_sound"], f"{[rule for rule in audit['rules'] if rule['breaches']]}")
    return f"killed after {done} of {STORIES}; all completed once, {attempts} attempts counted, `audit` is sound"


def a_wrong_model_name(service, engine):
    """`overnight run` in a data folder of its own: with a wrong name first, then with the right one."""
    if engine.is_embedded:
        raise DoesNotApply("the service itself starts it, under the name of the settings")
    own = Service(service.program, service.folder / "run", engine.settings("no-such-model"))
    command = own.command("run", own.write([ask("Hello."), ask("Who are you?"), ask("Bye.")]), "-o", str(own.folder / "results.jsonl"))
    with open(own.folder / "said", "wb") as said:
        run = subprocess.Popen(command, cwd=own.folder, stdout=said, stderr=said)
    try:
        wait_until(lambda: run.poll() is not None or note_in(own), 120, "`run` does not say why nothing moves")
    finally:
        run.send_signal(signal.SIGINT)
        code = run.wait(60)
    if code == 0:
        raise NotSupported("it answers to any name")
    with_wrong_name = [words(record) for record in results_of(own)] if code == 1 else []
    own.configure(engine.settings(engine.served_name))
    subprocess.run(command, cwd=own.folder, check=True, capture_output=True, timeout=PATIENCE)
    statuses = [record["status"] for record in results_of(own)]
    check(statuses == ["completed"] * 3, f"with the right name: {statuses}")
    with stopping(own.start()):
        asked = len(own.run("list", "requests"))
    check(not with_wrong_name, f"every request failed: {with_wrong_name[:1]}; `run` again, with the right name, completed all")
    check(code == 130 and asked == 3, f"`run` ended with {code} after SIGINT, and {asked} requests were asked")
    return f"“{note_in(own)}”; with the right name all completed, none was asked twice"


def results_of(own):
    return [json.loads(line) for line in open(own.folder / "results.jsonl", encoding="utf-8")]


def note_in(own):
    """The line in which `run` says why nothing moves."""
    lines = (own.folder / "said").read_text(errors="replace").splitlines()
    return next((line for line in lines if MODEL in line and re.search("waits|engine", line)), None)


def descendants(pid):
    """The identifiers of all processes below one."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [each for child in map(int, found) for each in (child, *descendants(child))]


def kill_children(pid):
    for child in descendants(pid):
        os.kill(child, signal.SIGKILL)


AT_FIRST = [the_engine_starts_last]
AT_LAST = [a_cancel, a_kill_and_a_restart, a_wrong_model_name]
