"""Which failures are worth another try, and when."""

from __future__ import annotations

import random

from overnight.errors import APIError, CutError, ForeignError, OvernightError, TransportError

FIRST_PAUSE_S = 0.25
PAUSE_MAX_S = 8.0
RETRY_AFTER_MAX_S = 60.0
"""A service that asks for more patience than this gets its answer through to the caller."""


def pause_after(error: OvernightError, *, is_repeatable: bool, tries: int) -> float | None:
    """How many seconds to wait before try number `tries` + 1; `None` where another try is unsafe or of no use."""
    if not _is_worth_another_try(error, is_repeatable):
        return None
    asked = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
    pause = max(asked, back_off(tries))
    return pause if pause <= RETRY_AFTER_MAX_S else None


def back_off(tries: int) -> float:
    """Doubles with every try, less up to half by chance: clients that failed together do not return together."""
    whole = min(FIRST_PAUSE_S * 2 ** min(tries, 16), PAUSE_MAX_S)
    return whole * random.uniform(0.5, 1.0)


def _is_worth_another_try(error: OvernightError, is_repeatable: bool) -> bool:
    match error:
        # This API answers 429 and 503 only where nothing was accepted.
        case APIError(status=429 | 503):
            return True
        case APIError(status=502 | 504) | ForeignError(status=429 | 502 | 503 | 504) | CutError():
            return is_repeatable
        case TransportError():
            return is_repeatable or not error.was_sent
        case _:
            return False
