"""Which service is called, and with which key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import overnight
from overnight._settings import Target, find_target


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OVERNIGHT_URL", raising=False)
    monkeypatch.delenv("OVERNIGHT_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def test_arguments_come_before_the_environment_and_that_before_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("overnight-data")
    folder.mkdir()
    (folder / "api-key").write_text("of-folder\n")
    (folder / "serve.json").write_text(json.dumps({"url": "http://127.0.0.1:9000"}))
    assert find_target(None, None) == Target("http://127.0.0.1:9000", "of-folder")
    monkeypatch.setenv("OVERNIGHT_URL", "http://localhost:1/")
    assert find_target(None, None) == Target("http://localhost:1", "of-folder")
    monkeypatch.setenv("OVERNIGHT_API_KEY", "of-environment")
    assert find_target("http://b/x/?y#z", None) == Target("http://b/x", "of-environment")
    assert find_target("http://b", "given") == Target("http://b", "given")


def test_a_key_of_the_folder_is_sent_to_this_machine_only() -> None:
    Path("overnight-data").mkdir()
    Path("overnight-data/api-key").write_text("of-folder\n")
    assert find_target("http://[::1]:80", None).api_key == "of-folder"
    with pytest.raises(overnight.InvalidCallError, match="OVERNIGHT_API_KEY"):
        find_target("https://localhost.example.com", None)


def test_what_cannot_be_called_is_refused() -> None:
    for url in ["127.0.0.1:8080", "ftp://a", "http://", "http://a:x"]:
        with pytest.raises(overnight.InvalidCallError, match="base URL"):
            find_target(url, "key")
    with pytest.raises(overnight.InvalidCallError, match="header"):
        find_target("http://a", "a\nb")


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(find_target("http://a", "secret"))


def test_only_this_machine_is_loopback() -> None:
    assert all(Target(url, "").is_loopback for url in ["http://127.0.0.2", "http://[::1]:80", "http://localhost:1"])
    assert not any(Target(url, "").is_loopback for url in ["http://10.0.0.1", "http://localhost.example.com"])
