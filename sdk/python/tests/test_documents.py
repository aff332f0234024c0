"""The programs of the documents run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from vectors import VectorEngine

import overnight

ROOT = Path(__file__).parents[3]
PACKAGE = "sdk/python/README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What documents call by names of their own.
SETTINGS = """
aggregation_period = "50ms"
[[models]]
name = "llama-3.1-8b-instruct"
[[engines]]
name = "local"
kind = "embedded"
models = { "llama-3.1-8b-instruct" = "overnight-tiny" }
"""


def blocks(path: str) -> list[str]:
    return BLOCK.findall((ROOT / path).read_text())


@pytest.fixture(scope="module")
def service() -> Iterator[overnight.LocalService]:
    with VectorEngine() as engine:
        service = overnight.local(settings=SETTINGS + engine.settings.replace('"vectors"', '"bge-m3"'))
        with service:
            yield service


def run(program: str, folder: Path, **environment: str) -> str:
    variables = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("title", ["Classify a table", "Judge answers", "Make synthetic data", "Embed a corpus"])
def test_every_recipe_runs(service: overnight.LocalService, tmp_path: Path, title: str) -> None:
    text = (ROOT / "docs/recipes.md").read_text()
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    (program,) = BLOCK.findall(section)
    told = run(program, tmp_path, OVERNIGHT_URL=service.url, OVERNIGHT_API_KEY=service.api_key)
    match title:
        case "Classify a table":
            assert "Nora" in told and re.search(r"billing|shipping|defect|other", told)
        case "Judge answers":
            assert "Counter(" in told
        case "Make synthetic data":
            written = (tmp_path / "quiz.jsonl").read_text().count("\n")
            assert told.startswith(f"{12 - written} rows have no answer; batches: batch_")
        case _:
            assert told.strip() in ("Hours", "Place", "People")
            assert (tmp_path / "vectors.jsonl").read_text().count("\n") == 3


def test_every_recipe_is_tried() -> None:
    assert len(blocks("docs/recipes.md")) == 4


def test_the_ten_lines_of_the_readme_answer_a_table(tmp_path: Path) -> None:
    (program,) = [block for block in blocks("README.md") if "map_frame" in block]
    assert len(program.splitlines()) <= 10
    service = overnight.local(tmp_path, settings='aggregation_period = "50ms"')
    with service:
        # The program finds the service by the folder that it made.
        told = run(program, tmp_path, OVERNIGHT_URL="", OVERNIGHT_API_KEY="")
    assert re.search(r"France +The capital of ", told), told


def test_the_programs_of_the_packages_readme_run(tmp_path: Path) -> None:
    first, webhook, local = blocks(PACKAGE)
    service = overnight.local(tmp_path, settings='aggregation_period = "50ms"')
    with service:
        program = first.replace("http://127.0.0.1:8080", service.url).replace("on_live_…", service.api_key)
        assert "What is the capital of Peru? " in run(program, tmp_path)
    run(webhook + 'assert receive(b"", {}, "whsec_AAAA") == 401\n', tmp_path)
    assert run(local, tmp_path).strip()
