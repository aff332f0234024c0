"""The modules that are generated are what the generator makes of the others today."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

GENERATOR: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "generate_sync.py"))


@pytest.mark.parametrize("module", GENERATOR["MODULES"])
def test_a_generated_module_is_up_to_date(module: str) -> None:
    committed = (GENERATOR["PACKAGE"] / f"{module}.py").read_text()
    assert committed == GENERATOR["generate"](module), "run sdk/python/generate_sync.py"
