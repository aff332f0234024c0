"""What is asked of the service: one value for each call, without I/O."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from overnight.errors import InvalidCallError

KEY_LENGTH_MAX = 255


@dataclass(frozen=True)
class Call:
    """One HTTP call below the base URL."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None
    is_repeatable: bool = True
    """Whether a second time is the same as the first: it changes nothing, or carries an idempotency key."""


def get(*segments: str, **query: object) -> Call:
    """A read. Parameters without a value are left out."""
    return Call("GET", _path(segments), _query(query))


def follow(batch_id: str, after: str | None) -> Call:
    """The results of a batch as they come, as events."""
    call = get("v1", "batches", batch_id, "results", follow=True, after=after)
    return Call(call.method, call.path, call.query, {"Accept": "text/event-stream", "Accept-Encoding": "identity"})


def create(kind: str, body: Mapping[str, Any], key: str, dialect: str = "") -> Call:
    """A create, which is done once, below the path of a dialect."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    return Call("POST", dialect + _path(("v1", kind)), headers=headers, content=to_json(body))


def post(segments: tuple[str, ...], body: Mapping[str, Any], key: str) -> Call:
    """Something else that is done once."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    return Call("POST", _path(segments), headers=headers, content=to_json(body))


def create_many(content: bytes, key: str) -> Call:
    """A bulk create, each line of which is done once."""
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key}
    return Call("POST", _path(("v1", "requests")), headers=headers, content=content)


def cancel(kind: str, identifier: str) -> Call:
    """What is cancelled can be cancelled again."""
    return Call("POST", _path(("v1", kind, identifier, "cancel")))


def delete(kind: str, identifier: str, dialect: str = "") -> Call:
    """A repeat of what was done would be told that there is nothing."""
    return Call("DELETE", dialect + _path(("v1", kind, identifier)), is_repeatable=False)


def to_json(value: Mapping[str, Any]) -> bytes:
    """The JSON of what is sent, on one line. Raises `InvalidCallError` where `value` has none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InvalidCallError(f"the body cannot be sent as JSON: {error}") from error


def new_key() -> str:
    """An idempotency key that nobody else has."""
    return str(uuid.uuid4())


def derive_key(*parts: object) -> str:
    """The idempotency key of a part of what a key is for. Other parts, or another key, give another one."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def check_key(key: str) -> str:
    """`key`, if it is an idempotency key."""
    if not 1 <= len(key) <= KEY_LENGTH_MAX or not all("!" <= character <= "~" for character in key):
        raise InvalidCallError(f"an idempotency key has 1 to {KEY_LENGTH_MAX} visible ASCII characters")
    return key


def _path(segments: tuple[str, ...]) -> str:
    # Clients resolve these, and the call would go to another path.
    for segment in segments:
        if segment in ("", ".", ".."):
            raise InvalidCallError(f"{segment!r} is not an identifier")
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def _query(parameters: Mapping[str, object]) -> dict[str, str]:
    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {name: text(value) for name, value in parameters.items() if value is not None}
