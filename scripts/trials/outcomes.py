"""What comes of a trial, and the table of all."""
import contextlib
import time


class Failed(Exception):
    """The service, or the engine, did not do what the trial asks."""


class NotSupported(Exception):
    """The engine cannot do what the trial asks. The service did its part."""


class DoesNotApply(Exception):
    """There is nothing to try."""


def check(condition, reason):
    if not condition:
        raise Failed(reason)


def wait_until(is_so, seconds, reason):
    """Waits for a condition and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        if found := is_so():
            return found
        check(time.monotonic() < deadline, f"{reason}, after {seconds} s")
        time.sleep(0.2)


def run_trial(trial, *arguments):
    """Runs one trial and returns its cell of the table."""
    began = time.monotonic()
    try:
        detail = trial(*arguments)
        outcome = f"ok: {detail}" if detail else "ok"
    except NotSupported as reason:
        outcome = f"not supported by the engine: {reason}"
    except DoesNotApply as reason:
        outcome = f"does not apply: {reason}"
    except Failed as reason:
        outcome = f"fails: {reason}"
    except Exception as fault:  # A fault of one trial does not take the others along.
        outcome = f"fails: {type(fault).__name__}: {fault}"
    print(f"  {trial.__name__.replace('_', ' ')}: {outcome} [{time.monotonic() - began:.0f} s]", flush=True)
    return " ".join(outcome.split()).replace("|", "\\|")


def print_table(columns):
    """Prints a Markdown table of the cells of each engine, by the trial's name."""
    trials = list(dict.fromkeys(trial for cells in columns.values() for trial in cells))
    print("\n| trial | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for trial in trials:
        print(f"| {trial.replace('_', ' ')} | " + " | ".join(cells.get(trial, "not run") for cells in columns.values()) + " |")


@contextlib.contextmanager
def stopping(thing):
    """Stops the thing at the end, whatever happens."""
    try:
        yield thing
    finally:
        thing.stop()
