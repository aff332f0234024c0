"""A service of one's own, for as long as it is used."""

from __future__ import annotations

import asyncio
import atexit
import json
import tempfile
from pathlib import Path
from types import TracebackType

from overnight._programs import LocalError, Process, find_program
from overnight.async_client import AsyncOvernight
from overnight.client import Overnight


class LocalService:
    """A service on this machine. `with` starts it, gives an `Overnight` and stops it; `async with` an
    `AsyncOvernight`."""

    def __init__(
        self, folder: str | Path | None, model: str | None, settings: str | Path | None, program: str | Path | None
    ) -> None:
        if model is not None and settings is not None:
            raise LocalError("`model` and `settings` say which models there are: pass one of them")
        self.program = Path(program).absolute() if program is not None else find_program()
        self._temporary = tempfile.TemporaryDirectory(prefix="overnight-") if folder is None else None
        self.folder = Path(self._temporary.name if self._temporary else str(folder)).absolute()
        """Where it keeps everything, in `overnight-data`, and its log, `overnight.log`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._arguments = self._choose_settings(model, settings)
        self._port = 0
        self._process: Process | None = None
        self._client: Overnight | None = None
        self._async_client: AsyncOvernight | None = None

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._running.told["url"]

    @property
    def api_key(self) -> str:
        """The key that it made at its first start."""
        return (self.folder / "overnight-data" / "api-key").read_text().strip()

    @property
    def sign_in_url(self) -> str | None:
        """A link that signs in to the console once."""
        return self._running.told.get("sign_in_url")

    def start(self) -> None:
        """Starts the service; again at the same address."""
        if self._process is None:
            self._process = Process(
                self.program, self.folder, [*self._arguments, "--listen", f"127.0.0.1:{self._port}"]
            )
            self._port = int(self.url.rpartition(":")[2])
            atexit.register(self.stop)

    def stop(self) -> None:
        """Stops the service. What waits goes on when it is started again in the same folder."""
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.stop)
            process.stop()

    def kill(self) -> None:
        """Ends the service as a power cut does, to try what happens then."""
        process, self._process = self._running, None
        process.kill()

    def client(self, *, retries: int = 5) -> Overnight:
        """A client of the service."""
        return Overnight(base_url=self.url, api_key=self.api_key, retries=retries)

    def async_client(self, *, retries: int = 5) -> AsyncOvernight:
        """The same with calls that are awaited."""
        return AsyncOvernight(base_url=self.url, api_key=self.api_key, retries=retries)

    def __enter__(self) -> Overnight:
        self.start()
        self._client = self.client()
        return self._client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()
        self._end()

    async def __aenter__(self) -> AsyncOvernight:
        await asyncio.to_thread(self.start)
        self._async_client = self.async_client()
        return self._async_client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._async_client is not None:
            await self._async_client.close()
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise LocalError("the service does not run")
        return self._process

    def _choose_settings(self, model: str | None, settings: str | Path | None) -> list[str]:
        if isinstance(settings, Path):
            return ["--config", str(settings.absolute())]
        text = _settings_of(model) if model is not None else settings
        if text is None:
            return []
        file = self.folder / "local.toml"
        file.write_text(text)
        return ["--config", str(file)]


def local(
    folder: str | Path | None = None,
    *,
    model: str | None = None,
    settings: str | Path | None = None,
    program: str | Path | None = None,
) -> LocalService:
    """A service on this machine, for as long as the block lasts:

        with overnight.local(model="hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF") as client:
            ...

    It listens on a free port of this machine only. Everything is kept in `folder`, and goes on there the next time;
    without one in a temporary folder that is deleted. `model` is a model of the Hugging Face Hub, which is downloaded,
    or a GGUF file; without it the settings are those of `folder`'s `overnight.toml`, or the model in the box.
    `settings` are such a file, or its text. `program` is the program `overnight`; by default `OVERNIGHT_PROGRAM`, else
    the one that the installed wheel carries, else the one in `PATH`. Other `OVERNIGHT_…` variables are not passed on.

    Raises `LocalError` where the program is not there or does not start, with the end of its log.
    """
    return LocalService(folder, model, settings, program)


def _settings_of(model: str) -> str:
    """One embedded engine with this model, named as `overnight run --model` names it."""
    is_of_hub = model.startswith("hf:")
    name = model.removeprefix("hf:") if is_of_hub else Path(model).stem
    path = model if is_of_hub else str(Path(model).absolute())
    return (
        f"[[models]]\nname = {json.dumps(name)}\n\n"
        f'[[engines]]\nname = "local"\nkind = "embedded"\nmodel_path = {json.dumps(path)}\n'
    )
