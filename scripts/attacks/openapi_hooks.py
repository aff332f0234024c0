"""What schemathesis cannot know of the service: its model, requests that exist, keys that were used, and lists of one JSON value on each
line."""
import datetime
import itertools
import json
import os
import re
import urllib.parse
import urllib.request

import schemathesis

LINES = "application/x-ndjson"
MODEL = "llama-3.1-8b-instruct"
SAMPLE = {"request_body": {"model": MODEL, "messages": [{"role": "user", "content": "Which is it?"}]}}
TEXT = {"type": "text", "text": "Which is it?"}
# JSON Schema takes 1.0 for an integer, and the service does not.
INTEGERS = {"max_tokens", "n"}
# The longest answer that is asked for: how long one may be depends on how many there are, and on what is asked for with each token.
TOKENS_MAX = 16
# With a number behind it, a longer Idempotency-Key could be longer than one may be.
LONGEST_NUMBERED = 240
# What the reference says in words: a host that a name server can know, of at most 253 letters.
HOST = re.compile(r"(?=.{1,253}\Z)([a-z0-9_-]{0,62}[a-z0-9_]\.)*[a-z0-9_-]{0,62}[a-z0-9_]", re.IGNORECASE)
# Refusals of what only the service knows: identifiers that nothing has, and keys under which something else was sent.
KNOWN_TO_THE_SERVICE = {"unknown", "in_another_batch", "idempotency_key_reused"}

numbers = itertools.count(1)
# Requests that chains of calls have made.
ungrouped = set()
# The service is on this machine, whatever proxies the environment names.
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def new_request():
    """The identifier of a request that exists, and is in no batch."""
    headers = {"Content-Type": "application/json", "X-API-Key": os.environ["OVERNIGHT_API_KEY"]}
    call = urllib.request.Request(f"{os.environ['OVERNIGHT_URL']}/v1/requests", json.dumps(SAMPLE).encode(), headers)
    with open_url(call, timeout=30) as answer:
        return json.load(answer)[0]["id"]


def with_the_model(body):
    """Puts the model that there is in the place of a name made up, and words where the reference tells the rest in words."""
    asked = body.get("request_body")
    if not isinstance(asked, dict) or not isinstance(asked.get("model"), str) or not asked["model"]:
        return body
    asked = {name: int(value) if is_whole(value) and name in INTEGERS else value for name, value in asked.items()} | {"model": MODEL}
    for name in ("max_tokens", "max_completion_tokens"):
        if isinstance(asked.get(name), int) and TOKENS_MAX < asked[name] < 1 << 31:
            asked[name] = TOKENS_MAX
    if isinstance(asked.get("messages"), list):
        asked["messages"] = [with_words(message) for message in asked["messages"]]
    return body | {"request_body": asked}


def is_whole(value):
    return isinstance(value, float) and value.is_integer()


def with_words(message):
    """Null is the content of an assistant's message that calls tools, and a content part is one of those of OpenAI's API."""
    if not isinstance(message, dict) or "role" not in message:
        return message
    content = message.get("content")
    if content is None:
        return message | {"content": "Which is it?"}
    if isinstance(content, list):
        return message | {"content": [TEXT if isinstance(part, dict) else part for part in content]}
    return message


def with_requests(body):
    """Puts requests that exist, and are in no batch, in the place of identifiers made up: the same for the same."""
    ids = body.get("requests_ids")
    if not isinstance(ids, list) or not all(isinstance(text, str) for text in ids):
        return body
    made = {text: text if text in ungrouped else new_request() for text in dict.fromkeys(ids)}
    ungrouped.difference_update(made)
    return body | {"requests_ids": [made[text] for text in ids]}


def with_a_host(body):
    """Puts a host that there can be in the place of one made up, in a URL as long as it was."""
    url = body.get("webhook")
    if not isinstance(url, str) or not url.startswith("https://"):
        return body
    try:
        host = urllib.parse.urlsplit(url).hostname or ""
    except ValueError:
        return body
    known = url if HOST.fullmatch(host) else "https://example.com/".ljust(len(url), "a")
    return body | {"webhook": known}


def with_near_days(query):
    """Puts the first day in the place of a last one that may be too far from it, where it is one."""
    first = query.get("first_day")
    return query | {"last_day": first} if is_day(first) and is_day(query.get("last_day", first)) else query


def is_day(text):
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except (TypeError, ValueError):
        return False


BODIES = {"POST /v1/requests": with_the_model, "POST /v1/batches": with_requests}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Says in each call what only the service knows, so that the call is refused for nothing else. What is wrong in it stays wrong."""
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and 0 < len(key) <= LONGEST_NUMBERED and all("!" <= character <= "~" for character in key):
        case.headers["Idempotency-Key"] = f"{key}-{next(numbers)}"
    if case.operation.label.endswith("/usage") and case.query:
        case.query = with_near_days(case.query)
    change = BODIES.get(case.operation.label)
    if change and isinstance(case.body, dict):
        case.body = with_a_host(change(case.body))


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.label == "POST /v1/requests" and response.status_code == 201:
        ungrouped.update(request["id"] for request in response.json())


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A call that is refused for what only the service knows, and for nothing else, is no finding."""
    if failure.__class__.__name__ != "RejectedPositiveData":
        return True
    error = response.json()["error"]
    codes = {detail["code"] for detail in error["details"]} or {error["code"]}
    return not codes <= KNOWN_TO_THE_SERVICE


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """The reference tells the shape of a line; what is read is all of them. Bodies of lines are not made."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            operation.get("requestBody", {}).get("content", {}).pop(LINES, None)
            for response in operation["responses"].values():
                if content := response.get("content", {}).get(LINES):
                    content["schema"] = {"type": "array", "items": content["schema"]}


@schemathesis.deserializer(LINES)
def read_lines(context, response):
    return [json.loads(line) for line in response.content.decode().splitlines()]
