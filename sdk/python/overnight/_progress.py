"""How far a map is: a line on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

TICK_S = 0.2


@dataclass
class Progress:
    """How far a map is."""

    total: int | None
    """All rows, where their number is known."""
    sent: int = 0
    """Rows that the service has taken in or refused."""
    answered: int = 0
    """Rows whose answers have come, those with errors counted."""
    failed: int = 0
    """Of these, rows without an answer."""
    began_at: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        total = max(self.total or 0, self.sent)
        if not self.answered:
            return f"{self.sent:,} of {total:,} rows sent" if self.total else f"{self.sent:,} rows sent"
        words = f"{self.answered:,} of {total:,} rows answered"
        return words + (f", {self.failed:,} failed" if self.failed else "") + self._rest(total)

    def _rest(self, total: int) -> str:
        seconds = time.monotonic() - self.began_at
        left = int(seconds * (total - self.answered) / max(self.answered, 1))
        if left < 1:
            return ""
        hours, minutes = left // 3600, left % 3600 // 60
        return f", about {hours}:{minutes:02}:{left % 60:02} left"


Report = Callable[[Progress], None]


def reporter(wanted: bool | Report | None) -> Report:
    """Who is told: a function of the user's, a line where somebody looks (`None`) or always (`True`), or nobody."""
    if callable(wanted):
        return wanted
    stream = _where_somebody_looks()
    if wanted is False or (wanted is None and stream is None):
        return lambda _: None
    return _Line(stream or sys.stderr)


def _where_somebody_looks() -> TextIO | None:
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        # A notebook shows standard error as something bad.
        return sys.stdout
    # Programs without a terminal may have none.
    stderr: TextIO | None = sys.stderr
    return stderr if stderr is not None and stderr.isatty() else None


def finish(report: Report) -> None:
    """Ends the line, if there is one."""
    if isinstance(report, _Line):
        report.end()


class _Line:
    """One line that is written over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0
        self._shown_at = 0.0
        self._progress: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._progress = progress
        now = time.monotonic()
        if now - self._shown_at >= TICK_S:
            self._show(progress)
            self._shown_at = now

    def end(self) -> None:
        if self._progress is not None:
            self._show(self._progress)
            self._stream.write("\n")
            self._stream.flush()

    def _show(self, progress: Progress) -> None:
        text = str(progress)
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)
