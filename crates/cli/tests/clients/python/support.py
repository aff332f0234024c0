"""Shared by the scripts: the service's address, the lines of a batch, and the native API's view of a batch."""

import asyncio
import faulthandler
import json
import os
import time
import urllib.request

URL = os.environ["CLIENT_URL"]
KEY = os.environ["CLIENT_KEY"]
MODEL = "overnight-tiny"
# No engine serves it, so its requests wait until they are cancelled.
WAITING_MODEL = "waiting"
BAD_KEY = "on_live_wrong"

TOKENS = 6
# The most likely tokens, because a random answer could be empty.
LIKELIEST = {"temperature": 0}
LONGEST_S = 150
STEP_S = 0.1
STEPS_MAX = 600


def reset_watchdog():
    """Ends the script with a stack trace if it is not called again in time. Scripts with many calls reset it at each."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)


reset_watchdog()


def same(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def raises(kind, call):
    """The error of exactly this class that a call must raise."""
    try:
        call()
    except Exception as error:
        assert type(error) is kind, f"{error!r} is no {kind.__name__}"
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


async def raises_async(kind, call):
    try:
        await call()
    except Exception as error:
        assert type(error) is kind, f"{error!r} is no {kind.__name__}"
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def chat(content, model=MODEL):
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": TOKENS, **LIKELIEST}


def line(custom_id, body, url="/v1/chat/completions"):
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body})


def lines(count, model=MODEL):
    """The file of a batch of chat completions."""
    return "".join(line(f"row-{number}", chat(f"Say {number}", model)) + "\n" for number in range(count)).encode()


def response_lines(count):
    """The file of a batch of responses."""
    body = {"model": MODEL, "input": "Say it", "max_output_tokens": TOKENS, **LIKELIEST}
    return "".join(line(f"row-{number}", body, "/v1/responses") + "\n" for number in range(count)).encode()


def custom_ids(text):
    return sorted(json.loads(line)["custom_id"] for line in text.splitlines())


def rows(count):
    return sorted(f"row-{number}" for number in range(count))


def poll(read, is_done):
    """Polls until it has ended."""
    for _ in range(STEPS_MAX):
        found = read()
        if is_done(found):
            return found
        time.sleep(STEP_S)
    raise AssertionError(f"it does not end: {found!r}")


async def poll_async(read, is_done):
    for _ in range(STEPS_MAX):
        found = await read()
        if is_done(found):
            return found
        await asyncio.sleep(STEP_S)
    raise AssertionError(f"it does not end: {found!r}")


def native(path):
    """The answer of the native API."""
    request = urllib.request.Request(f"{URL}/v1{path}", headers={"X-API-Key": KEY})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wait_for_requests(batch_id, count):
    """Waits until every line of the batch is a request; before that, a cancel would have no request to cancel."""
    poll(lambda: native(f"/batches/{batch_id}")["requests_ids"], lambda ids: len(ids) == count)


def seen_natively(batch_id, status, **counts):
    """The batch in the native API."""
    batch = native(f"/batches/{batch_id}")
    same(batch["id"], batch_id)
    same(batch["status"], status)
    found = {name: count for name, count in batch["requests_counts"].items() if count}
    same(found, {**counts, "total": sum(counts.values())})
