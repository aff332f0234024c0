"""Trials of what is answered. Each takes the running service and its engine."""
import json

from .outcomes import NotSupported, check


def ask(text, **fields):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0, **fields}


def choice(record):
    check(record["status"] == "completed", f"{record['status']}: {words(record)}")
    return record["result_body"]["choices"][0]


def words(record):
    return json.dumps((record["result_body"] or {}).get("error"), ensure_ascii=False)[:200]


def all_completed(records, count):
    check(len(records) == count, f"{len(records)} results of {count}")
    for record in records:
        choice(record)


def a_file_of_24_prompts(service, engine):
    lines = open(engine.root / "examples" / "prompts.jsonl", encoding="utf-8").read().splitlines()
    bodies = [json.loads(line)["request_body"] for line in lines]
    for body in bodies:
        del body["model"]
    records = service.answer(bodies)
    all_completed(records, 24)
    usage = [record["result_body"]["usage"] for record in records]
    cached = sum((use.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for use in usage)
    return f"{sum(use['prompt_tokens'] for use in usage)} prompt tokens, of which {cached} were reported as cached"


def doctor_says_ok(service, engine):
    found = service.run("doctor")
    faults = [each["message"] for each in found["checks"] if each["state"] not in ("ok", "warning")]
    check(found["is_well"], "; ".join(faults))
    said = [each for each in found["checks"] if each["check"].startswith("engine ")]
    return "; ".join(each["state"] if each["state"] == "ok" else f"{each['state']}: {each['message']}" for each in said)


def no_max_tokens(service, engine):
    body = ask("Say hello.")
    del body["max_tokens"]
    [record] = service.answer([body])
    return f"`{choice(record)['finish_reason']}` after {record['result_body']['usage']['completion_tokens']} tokens"


def unicode_and_short_prompts(service, engine):
    texts = [
        "Repeat: 🦉👩‍👩‍👧‍👦🏳️‍🌈",
        "请重复:你好,世界",
        "חזור: שלום עולם, مرحبا بالعالم",
        "e\u0301 \u202e\u200b\ufeff\u0001 \U0010ffff",
        "a", " ", "\n",
    ]
    records = service.answer([ask(text) for text in texts])
    all_completed(records, len(texts))
    for text, record in zip(texts, records):
        sent = record["request_body"]["messages"][0]["content"]
        check(sent == text, f"{text!r} was sent and {sent!r} came back")


def a_prompt_beyond_the_context(service, engine):
    """The short prompts of the same file go on, and the engine is not paused."""
    records = service.answer([ask("one two three " * engine.too_long), ask("Hello."), ask("Who are you?"), ask("Bye.")])
    all_completed(records[1:], 3)
    check(service.metric("overnight_engine_paused") == 0, "the engine is paused")
    if records[0]["status"] == "completed":
        usage = records[0]["result_body"]["usage"]
        raise NotSupported(f"it answers a prompt of {usage['prompt_tokens']} tokens beyond its context")
    error = records[0]["result_body"]["error"]
    check(error["code"] == "engine_rejected", f"the code is {error['code']}: {error['message'][:200]}")
    return f"“{error['message'][:160]}”"


def two_choices(service, engine):
    one, two = service.answer([ask("Name a colour.", seed=1), ask("Name a colour.", seed=1, n=2, temperature=1)])
    choice(one)
    if two["status"] == "failed" and two["result_body"]["error"]["code"] == "engine_rejected":
        raise NotSupported(two["result_body"]["error"]["message"][:160])
    choice(two)
    choices, usage = two["result_body"]["choices"], two["result_body"]["usage"]
    if len(choices) == 1:
        raise NotSupported("it ignores `n` and answers with one choice")
    check([each["index"] for each in choices] == [0, 1], f"{len(choices)} choices")
    check(usage["prompt_tokens"] == one["result_body"]["usage"]["prompt_tokens"], f"the prompt is counted as {usage}")
    cut = [each for each in choices if each["finish_reason"] == "length"]
    check(usage["completion_tokens"] >= 24 * len(cut) + 2 - len(cut), f"two choices are counted as {usage}")
    return f"{usage['completion_tokens']} completion tokens"


def json_schema(service, engine):
    schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
              "required": ["city", "people"], "additionalProperties": False}
    asked = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": schema}}
    [record] = service.answer([ask("Describe Paris as JSON.", max_tokens=120, response_format=asked)])
    if record["status"] == "failed" and record["result_body"]["error"]["code"] == "engine_rejected":
        raise NotSupported(record["result_body"]["error"]["message"][:160])
    text = choice(record)["message"]["content"]
    try:
        value = json.loads(text)
        is_valid = isinstance(value["city"], str) and isinstance(value["people"], int) and len(value) == 2
    except (ValueError, KeyError, TypeError):  # Not JSON, or not an object with the two members.
        is_valid = False
    if not is_valid:
        raise NotSupported(f"it ignores `response_format` and answers {text[:60]!r}")


def logprobs(service, engine):
    [record] = service.answer([ask("Hello.", logprobs=True, top_logprobs=2)])
    if record["status"] == "failed":
        raise NotSupported(words(record))
    tokens = (choice(record).get("logprobs") or {}).get("content")
    if not tokens:
        raise NotSupported("the answer has none")
    check(len(tokens[0]["top_logprobs"]) == 2, f"{tokens[0]}")


def seed(service, engine):
    """One after the other, so that both are computed under the same load."""
    records = [service.answer([ask("Tell a story.", temperature=1, seed=number)])[0] for number in (7, 7, 8)]
    texts = [choice(record)["message"]["content"] for record in records]
    if texts[0] != texts[1]:
        raise NotSupported("the same seed gives different answers")
    if texts[0] == texts[2]:
        raise NotSupported("it does not sample: another seed gives the same answer, at temperature 1")


def stop(service, engine):
    body = ask("Count from 1 to 9 with commas: 1, 2, 3", max_tokens=60, stop=["5"])
    [record] = service.answer([body])
    if record["status"] == "failed":
        raise NotSupported(words(record))
    text = choice(record)["message"]["content"]
    if "5" in text:
        raise NotSupported(f"it ignores `stop`: {text[:60]!r}")
    return f"`{choice(record)['finish_reason']}`"


ALL = [a_file_of_24_prompts, doctor_says_ok, no_max_tokens, unicode_and_short_prompts, a_prompt_beyond_the_context, two_choices,
       json_schema, logprobs, seed, stop]
