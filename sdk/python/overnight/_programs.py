"""Where the program `overnight` is, and its process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, BinaryIO

from overnight.errors import OvernightError

PROGRAM_VARIABLE = "OVERNIGHT_PROGRAM"
CARRIED = Path(__file__).parent / "bin" / "overnight"
"""Where the wheel of a platform has it, with `overnight-engine` beside it."""
STOP_MAX_S = 20.0
"""How long the service has to finish what is under way."""
LOG_BYTES_SHOWN = 4_000


class LocalError(OvernightError):
    """The program is not there, or does not start."""


def find_program() -> Path:
    """`OVERNIGHT_PROGRAM`, else the program that the wheel carries, else the one in `PATH`."""
    named = os.environ.get(PROGRAM_VARIABLE)
    if named:
        return Path(named).absolute()
    if CARRIED.exists():
        return CARRIED
    found = shutil.which("overnight")
    if found is None:
        raise LocalError(
            "the program overnight is not there: install a wheel that carries it, "
            f"name it in {PROGRAM_VARIABLE}, or put it into a folder of PATH"
        )
    return Path(found)


class Process:
    """A running `overnight serve` in a folder."""

    def __init__(self, program: Path, folder: Path, arguments: list[str]) -> None:
        self._log = folder / "overnight.log"
        # Settings of other services on this machine are none of this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OVERNIGHT_")}
        with self._log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    [program, "serve", "--json", "--quiet", *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Ctrl-C is for this program, which stops the service when it has finished.
                    start_new_session=True,
                )
            except OSError as error:
                raise LocalError(f"{program} does not start: {error}") from error
        self.told = self._read_told()

    @property
    def id(self) -> int:
        """That of the operating system."""
        return self._process.pid

    def stop(self) -> None:
        """Lets the service finish what is under way."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_MAX_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._stdout.close()

    def kill(self) -> None:
        """Ends the process at once, as a power cut does."""
        self._process.kill()
        self._process.wait()
        self._stdout.close()

    @property
    def _stdout(self) -> BinaryIO:
        stdout: Any = self._process.stdout
        return stdout

    def _read_told(self) -> dict[str, Any]:
        """What the service says once it serves."""
        line = self._stdout.readline()
        try:
            return json.loads(line)
        except ValueError:
            self.stop()
            log = self._log.read_bytes()[-LOG_BYTES_SHOWN:].decode(errors="replace").strip()
            raise LocalError(f"the service does not start: {log}") from None
