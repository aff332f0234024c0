"""Services of one's own, and what becomes of a map when its service is killed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from conftest import ANSWER, SETTINGS

import overnight
from overnight import Progress

ROWS = 600


@pytest.mark.parametrize("kill_at", ["while rows are sent", "while answers come"])
def test_a_map_loses_nothing_when_its_service_is_killed(tmp_path: Path, kill_at: str) -> None:
    service = overnight.local(tmp_path, settings=SETTINGS)
    kills = 0

    def kill_and_start(progress: Progress) -> None:
        nonlocal kills
        is_time = progress.sent == ROWS // 2 if kill_at == "while rows are sent" else progress.answered == 50
        if is_time and kills == 0:
            kills += 1
            service.kill()
            # It comes back while the client tries again.
            threading.Timer(0.3, service.start).start()

    with service as client:
        answers = client.map(
            (f"Count to {number}." for number in range(ROWS)),
            model="overnight-tiny",
            max_tokens=2,
            progress=kill_and_start,
        )
        found = list(answers)
        assert kills == 1
        assert sorted(answer.index for answer in found) == list(range(ROWS))
        assert all(answer.error is None for answer in found)
        assert len({answer.request.id for answer in found if answer.request}) == ROWS
        assert len(list(client.list_requests())) == ROWS


def test_a_map_keeps_to_the_limits_of_its_account_and_of_batches() -> None:
    limits = "[limits]\nbatch_requests = 10\n[quotas]\nlive_requests = 20\n"
    with overnight.local(settings=SETTINGS + limits) as client:
        answers = client.map(range(50), prompt=str, model="overnight-tiny", max_tokens=1)
        assert sorted(answer.index for answer in answers) == list(range(50))
        assert len(answers.batch_ids) >= 5


def test_a_folder_is_kept_and_goes_on(tmp_path: Path) -> None:
    with overnight.local(tmp_path, settings=SETTINGS) as client:
        waiting = client.create_request({"model": "waiting", "messages": [{"role": "user", "content": "hi"}]})
    assert (tmp_path / "overnight.log").exists()
    with overnight.local(tmp_path, settings=tmp_path / "local.toml") as client:
        assert client.get_request(waiting.id).request_body["model"] == "waiting"


def test_a_model_of_a_file_is_the_only_one(tmp_path: Path) -> None:
    model = Path(__file__).parents[3] / "assets" / "overnight-tiny.gguf"
    with overnight.local(model=str(model)) as client:
        assert [model.id for model in client.list_models()] == ["overnight-tiny"]
        (answer,) = client.map(["What is the capital of France?"], max_tokens=16, temperature=0)
        assert answer.text is not None and answer.text.startswith(ANSWER)


def test_a_service_of_ones_own_has_an_asynchronous_client() -> None:
    async def use() -> str:
        async with overnight.local() as client:
            return (await client.get_account()).name

    assert asyncio.run(use()) == "default"


def test_a_service_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(overnight.LocalError, match="no_such_setting"):
        overnight.local(tmp_path, settings="no_such_setting = 1").start()
    with pytest.raises(overnight.LocalError, match="does not start"):
        overnight.local(tmp_path, program=tmp_path / "nothing").start()
    with pytest.raises(overnight.LocalError):
        overnight.local(tmp_path, model="hf:a/b", settings="")


def test_the_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "overnight"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("overnight._programs.CARRIED", tmp_path / "none")
    monkeypatch.delenv("OVERNIGHT_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(overnight.LocalError, match="OVERNIGHT_PROGRAM"):
        overnight.local(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(overnight.LocalError, match="does not start"):
        overnight.local(tmp_path).start()
