"""Which service is called, and with which key: by arguments, the environment and the data folder, as the CLI does."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import httpx

from overnight.errors import InvalidCallError

URL_VARIABLE = "OVERNIGHT_URL"
KEY_VARIABLE = "OVERNIGHT_API_KEY"
DATA_FOLDER = Path("overnight-data")
DEFAULT_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Target:
    """A service and the key for it."""

    base_url: str
    api_key: str

    def __repr__(self) -> str:
        return f"Target({self.base_url!r})"

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine, where no proxy stands in between."""
        host = httpx.URL(self.base_url).host
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return False


def find_target(base_url: str | None, api_key: str | None) -> Target:
    """The service of these arguments; else of `OVERNIGHT_URL` and `OVERNIGHT_API_KEY`; else of the folder
    `overnight-data` in the working directory. A key of that folder is sent to this machine only."""
    url = _parse(base_url or _variable(URL_VARIABLE) or _url_of_folder() or DEFAULT_URL)
    target = Target(url, api_key or _variable(KEY_VARIABLE) or "")
    if not target.api_key and target.is_loopback:
        target = Target(url, _read(DATA_FOLDER / "api-key"))
    if not target.api_key:
        raise InvalidCallError(f"there is no API key: pass `api_key` or set {KEY_VARIABLE}")
    if not target.api_key.isascii() or not target.api_key.isprintable():
        raise InvalidCallError("the API key holds characters that no header can carry")
    return target


def _parse(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise InvalidCallError(f"the base URL {text!r} cannot be read: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidCallError(f"the base URL {text!r} must begin with http:// or https://")
    return str(url.copy_with(query=None, fragment=None)).rstrip("/")


def _url_of_folder() -> str | None:
    """Where the service of the data folder said that it is."""
    try:
        return json.loads(_read(DATA_FOLDER / "serve.json"))["url"]
    except (ValueError, KeyError):
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _variable(name: str) -> str | None:
    """An environment variable; an empty one is as absent."""
    return os.environ.get(name, "").strip() or None
