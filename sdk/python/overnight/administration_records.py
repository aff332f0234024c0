"""What operators read and send under `/v1/admin`. Times are in Unix seconds, amounts decimal numbers of credits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

Limit = int | Literal["none"] | None
"""A whole number above 0, `"none"` for no limit, or None for that of the settings."""


class Limits(TypedDict, total=False):
    """An account's quotas: what is absent stays."""

    stored_bytes: Limit
    live_requests: Limit
    requests_per_second: Limit
    tokens_per_day: Limit


@dataclass(frozen=True)
class Totals:
    """What an account has, holds and spent."""

    account: str
    balance: str
    held: str
    available: str
    spent: str
    """What was charged for all requests that completed."""
    spent_today: str
    """The same of today, UTC."""
    requests: int
    """How many requests completed."""
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class ApiKey:
    """An API key, without its secret."""

    id: str
    prefix: str
    """The part of the key that may be shown."""
    name: str | None
    scope: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


@dataclass(frozen=True)
class ApiKeyCreated:
    """A key that was made just now."""

    key: str
    """The key itself, which is told in no other answer."""
    record: ApiKey


@dataclass(frozen=True)
class ApiKeyList:
    """The keys of an account, oldest first: all that work, and the newest 1,000 of the others."""

    data: tuple[ApiKey, ...]
    is_cut: bool
    """Older keys that do not work any more are left out."""


@dataclass(frozen=True)
class Grant:
    """A grant in the ledger."""

    source: str
    amount: str
    created_at: int


@dataclass(frozen=True)
class GrantCreated:
    """A grant, as it was posted."""

    source: str
    amount: str
    is_new: bool
    """It was posted by this call; otherwise the same was granted before."""
    available: str
    """What the account has available now."""
