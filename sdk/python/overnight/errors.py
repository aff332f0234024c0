"""What can go wrong. Every error of this package is an `OvernightError`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorDetail:
    """One fault in the input."""

    param: str | None
    message: str
    code: str
    id: str | None = None
    """The identifier at fault, in an answer of Create Batch."""


@dataclass(frozen=True)
class ErrorBody:
    """A refusal in the service's words."""

    message: str
    type: str
    code: str
    param: str | None = None
    details: tuple[ErrorDetail, ...] = ()
    details_total: int | None = None
    request_id: str = ""


class OvernightError(Exception):
    """Why a call failed."""


class InvalidCallError(OvernightError, ValueError):
    """The call cannot be made; nothing was sent."""


class TransportError(OvernightError):
    """No answer came. `was_sent` is false where the call certainly did not reach the service."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class CutError(OvernightError):
    """The answer was cut off before its end. What was read of it is true, and not all."""


class UnreadableError(OvernightError):
    """The answer is not what this API promises."""


class ForeignError(OvernightError):
    """Something answered that does not speak this API, such as a proxy."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status} without an error of this API: {text}")
        self.status = status
        self.text = text


class APIError(OvernightError):
    """The service refused. Nothing was changed."""

    def __init__(self, status: int, body: ErrorBody, retry_after: float | None = None) -> None:
        super().__init__(f"{body.message} ({body.code}, HTTP {status}, {body.request_id})")
        self.status = status
        """The HTTP status."""
        self.body = body
        """The refusal in the service's words."""
        self.retry_after = retry_after
        """How many seconds the service asks to wait before another try."""

    @property
    def message(self) -> str:
        """What is wrong, for a person to read."""
        return self.body.message

    @property
    def code(self) -> str:
        """The exact refusal, such as `not_found`, for a program to tell by."""
        return self.body.code

    @property
    def param(self) -> str | None:
        """What in the input is at fault."""
        return self.body.param

    @property
    def details(self) -> tuple[ErrorDetail, ...]:
        """Every fault found in the input; at most the first 1,000."""
        return self.body.details

    @property
    def request_id(self) -> str:
        """The name of the call. Quote it when you ask for help."""
        return self.body.request_id


class AuthenticationError(APIError):
    """401: the API key is missing or unknown."""


class CreditsError(APIError):
    """402: the account has too few credits, or its payments are not activated."""


class PermissionDeniedError(APIError):
    """403: the API key only reads (`insufficient_scope`), or the account is suspended (`account_suspended`)."""


class NotFoundError(APIError):
    """404: it is none of the caller's."""


class ConflictError(APIError):
    """409: the state of the request or batch does not allow it."""


class AlreadyEndedError(ConflictError):
    """409 `already_ended`: it has completed or failed."""


class NotEndedError(ConflictError):
    """409 `not_ended`: it waits or runs."""


class TooLargeError(APIError):
    """413: the body is longer than the service takes."""


class InvalidInputError(APIError):
    """422: the input has faults; `details` names them."""


class IdempotencyKeyReusedError(InvalidInputError):
    """422 `idempotency_key_reused`: the key was used with another body."""


class RateLimitError(APIError):
    """429: too many calls."""


class QuotaExceededError(RateLimitError):
    """429 `quota_exceeded`: the account uses all that it may."""


class ServerError(APIError):
    """5xx: a fault of the service."""


class UnavailableError(ServerError):
    """503: the service takes nothing in now."""


_BY_CODE: dict[str, type[APIError]] = {
    "already_ended": AlreadyEndedError,
    "not_ended": NotEndedError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "quota_exceeded": QuotaExceededError,
}
_BY_STATUS: dict[int, type[APIError]] = {
    401: AuthenticationError,
    402: CreditsError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidInputError,
    429: RateLimitError,
    503: UnavailableError,
}


def api_error(status: int, body: ErrorBody, retry_after: float | None = None) -> APIError:
    """The error of this status, or of this code where that belongs to it. An unknown code counts as its status."""
    of_status = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    of_code = _BY_CODE.get(body.code, of_status)
    kind = of_code if issubclass(of_code, of_status) else of_status
    return kind(status, body, retry_after)
