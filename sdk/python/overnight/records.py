"""What the service tells: the records of `/v1`. Times are Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from overnight.errors import APIError

RequestState = Literal["registered", "in progress", "completed", "failed", "cancelled"]
"""`registered`: waiting for its turn. `in progress`: given to an engine. The last three never change again."""

BatchState = Literal["registered", "in progress", "completed", "cancelled"]
"""`registered`: none of its requests has started. The last two never change again."""

Order = Literal["asc", "desc"]
"""`asc`: oldest first. `desc`: newest first."""

Json = dict[str, Any]
"""A JSON object."""


class BatchFilter(TypedDict, total=False):
    """Which batches a list has."""

    status: BatchState
    created_after: int
    """Only those created after this time."""
    created_before: int
    after: str
    """Only those after this one, in the order asked for."""
    order: Order
    """The order of arrival, oldest first, where this is absent."""
    limit: int
    """At most so many; all of them where this is absent."""
    requests_ids: bool
    """False: each batch without the list of its requests, which may be long."""


class RequestFilter(TypedDict, total=False):
    """Which requests a list has. The members are those of `BatchFilter`, and the model."""

    status: RequestState
    model: str
    created_after: int
    created_before: int
    after: str
    order: Order
    limit: int


@dataclass(frozen=True)
class CreateRequest:
    """A chat completion to be answered within 24 hours."""

    request_body: Mapping[str, Any]
    """A body of OpenAI's chat completions: `model`, `messages` and what the engine takes besides."""
    metadata: Mapping[str, Any] | None = None
    """Anything that is to be read back: a JSON object of at most 16 KiB."""
    webhook: str | None = None
    """Where to tell of the end of this request: an `https` URL."""

    def to_json(self) -> Json:
        """The body of Create Request."""
        members = {"request_body": self.request_body, "metadata": self.metadata, "webhook": self.webhook}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True)
class RequestCreated:
    """What Create Request answers. The request is durable."""

    id: str
    status: RequestState
    created_at: int
    expires_at: int
    """When its completion window ends."""


@dataclass(frozen=True)
class WaitingFor:
    """What keeps a registered request from an engine."""

    reason: str
    until: int | None = None
    others: int | None = None
    """With the reason `queue`, how many other requests wait for the same model."""
    running_model: str | None = None
    """With the reason `engines_stopped`, the model that has the device of these engines now."""


@dataclass(frozen=True)
class RequestStatus:
    """How a request stands, without its bodies."""

    id: str
    status: RequestState
    created_at: int
    expires_at: int
    in_progress_at: int | None = None
    ended_at: int | None = None
    waiting_for: WaitingFor | None = None
    estimated_completion_at: int | None = None


@dataclass(frozen=True)
class FieldWarning:
    """A field that the engine did not honour, or a part of its answer that is odd."""

    param: str
    message: str


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt to complete a request that failed."""

    ended_at: int
    status: int | None
    """The HTTP status of the engine; `None` where it did not answer with an error."""
    message: str


@dataclass(frozen=True)
class Failure:
    """Why a request failed."""

    message: str
    type: str
    code: str
    """`expired`, `engine_rejected`, `engine_unavailable` or `engine_invalid_response`."""
    param: str | None = None


@dataclass(frozen=True)
class Request:
    """A request with its body and, once it has ended, its result."""

    id: str
    status: RequestState
    created_at: int
    expires_at: int
    batch_id: str | None
    metadata: Json | None
    request_body: Json
    """What the model was asked, as it was sent."""
    completion_window: str
    webhook: str | None
    in_progress_at: int | None = None
    ended_at: int | None = None
    result_body: Json | None = None
    """The engine's answer to a completed request, the error of a failed one; `None` in every other state."""
    warnings: tuple[FieldWarning, ...] = ()
    attempts: tuple[FailedAttempt, ...] = ()
    """The attempts that failed, oldest first. Only `get_request` says them."""
    waiting_for: WaitingFor | None = None
    estimated_completion_at: int | None = None

    @property
    def text(self) -> str | None:
        """The text of the first choice of a completed request."""
        choice = self._first_choice()
        message = choice.get("message") or choice
        return message.get("content", message.get("text"))

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, such as `stop`, `length` or `tool_calls`."""
        return self._first_choice().get("finish_reason")

    @property
    def usage(self) -> Usage | None:
        """The tokens of a completed request."""
        usage = (self.result_body or {}).get("usage")
        if self.status != "completed" or not isinstance(usage, dict):
            return None
        counts: Json = usage  # pyright: ignore[reportUnknownVariableType]
        return Usage(int(counts.get("prompt_tokens") or 0), int(counts.get("completion_tokens") or 0))

    @property
    def failure(self) -> Failure | None:
        """Why a failed request failed."""
        error = (self.result_body or {}).get("error") if self.status == "failed" else None
        if error is None:
            return None
        return Failure(error["message"], error["type"], error["code"], error.get("param"))

    def _first_choice(self) -> Json:
        choices: list[Json] = (self.result_body or {}).get("choices") or [{}]
        return choices[0]


@dataclass(frozen=True)
class Usage:
    """Tokens read and written."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class RequestsCounts:
    """How many requests of a batch are in each state. The five states add up to `total`."""

    total: int
    completed: int
    failed: int
    in_progress: int
    registered: int
    cancelled: int


@dataclass(frozen=True)
class BatchCreated:
    """What Create Batch answers."""

    id: str
    status: BatchState
    requests_counts: RequestsCounts
    created_at: int


@dataclass(frozen=True)
class BatchStatus:
    """How a batch stands, without the list of its requests."""

    id: str
    status: BatchState
    requests_counts: RequestsCounts
    created_at: int
    cancelled_at: int | None = None
    in_progress_at: int | None = None
    completed_at: int | None = None
    estimated_completion_at: int | None = None


@dataclass(frozen=True)
class Batch:
    """A batch with the list of its requests, if it was not left out of a list."""

    id: str
    status: BatchState
    requests_counts: RequestsCounts
    created_at: int
    webhook: str | None
    metadata: Json | None
    requests_ids: tuple[str, ...] = ()
    cancelled_at: int | None = None
    in_progress_at: int | None = None
    completed_at: int | None = None
    estimated_completion_at: int | None = None


@dataclass(frozen=True)
class Model:
    """A model that requests may name. Prices are credits per million tokens, as decimal numbers; `None` is free."""

    id: str
    owned_by: str
    created: int
    input_price: str | None
    output_price: str | None
    default_max_tokens: int
    image_tokens: int
    bytes_per_token: int
    aliases: list[str] = field(default_factory=list[str])
    retires_at: int | None = None
    replaced_by: str | None = None


@dataclass(frozen=True)
class QuotaUse:
    """A quota and what is used of it; `None` where there is no limit, or no count of a rate."""

    used: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class AccountQuotas:
    """What an account uses and may use."""

    stored_bytes: QuotaUse
    live_requests: QuotaUse
    requests_per_second: QuotaUse
    tokens_per_day: QuotaUse


@dataclass(frozen=True)
class LowCredits:
    """When and where an account is told that its credits are low."""

    threshold: str
    """It is told once less than this is available."""
    webhook: str


@dataclass(frozen=True)
class Account:
    """The account of the key. Amounts are decimal numbers of credits."""

    id: str
    name: str
    created_at: int
    balance: str
    held: str
    """Set aside for requests that have not ended: the most that they may cost."""
    available: str
    payments_activated: bool
    suspended: bool = False
    """The operator has suspended the account: its keys only read."""
    closed: bool = False
    """The operator has closed the account for good."""
    erased: bool = False
    """What the account had is erased, all but the entries of its ledger."""
    retention_seconds: int | None = None
    """How long ended requests are kept, in seconds; None for ever."""
    monthly_credits: str | None = None
    """What the account is granted each calendar month (UTC)."""
    low_credits: LowCredits | None = None
    """When and where the account is told that its credits are low."""
    quotas: AccountQuotas | None = None


class UsageFilter(TypedDict, total=False):
    """The days and the grouping of a list of usage."""

    group_by: str
    """The fields by which the list is grouped: any of `day`, `model` and `api_key`, with commas between them. The
    default is `day,model`."""
    first_day: str
    """As `2026-11-01` (UTC). The default is 29 days before the last day."""
    last_day: str
    """At most 30 days after the first one. The default is today. All pages of a list are about the same days."""


@dataclass(frozen=True)
class UsageRecord:
    """The requests of one group that completed. A field by which the list is not grouped is None."""

    day: str | None
    """The day (UTC) on which the requests completed."""
    model: str | None
    api_key_id: str | None
    """The API key that created the requests, which may be revoked by now. None too for requests that no key created."""
    api_key_name: str | None
    requests: int
    """How many requests completed."""
    prompt_tokens: int
    completion_tokens: int
    credits: str
    """What was charged for them, as a decimal number."""


@dataclass(frozen=True)
class BulkOutcome:
    """What became of one body of a bulk create: exactly one of `created` and `error` is there."""

    line: int
    """Its place among the bodies, from 1."""
    created: RequestCreated | None = None
    error: APIError | None = None
    """The refusal as that of a call of its own."""
