"""Writes the client whose calls block from the one whose calls are awaited: `python sdk/python/generate_sync.py`.

Both call the coroutines of `_operations.py`, which `run` and `iterate` drive where there is no event loop. Needs ruff.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "overnight"
MODULES = ["client", "administration", "once", "answers"]
RULES = [
    # Sentences of the awaited client alone.
    (r"whose calls are awaited", "whose calls block"),
    (r", from an event loop", ""),
    (r" Rows may also be drawn with `async for`\.", ""),
    # A shared coroutine is run, a shared generator iterated. Each such call is on one line.
    (r"await (self\._operations\..*)", r"run(\1)"),
    (r"(return|=) ((?:self\._operations\.|answers\(|embeddings\().*)", r"\1 iterate(\2)"),
    (r"\bAsyncTransport\b", "SyncTransport"),
    (r" \| AsyncIterable\[\w+\]", ""),
    (r"__a(enter|exit|next)__", r"__\1__"),
    (r"\banext\b", "next"),
    (r"\b(async|await) |\b(Async|async_)(?=\w)", ""),
    (r"(import annotations\n)", r"\1from overnight._transport import iterate, run\n"),
]
"""Patterns and what stands for them, applied one after the other."""


def generate(module: str) -> str:
    """The text of a module of the client whose calls block."""
    text = (PACKAGE / f"async_{module}.py").read_text()
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    # Sorts the imports, and takes out those that are not used or there twice.
    text = _ruff(text, "check", "--fix-only", "--select=I,F401")
    return f"# Generated from async_{module}.py by generate_sync.py; do not edit.\n" + _ruff(text, "format")


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename=overnight/any.py", "-"]
    return subprocess.run(command, cwd=PACKAGE.parent, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    for module in MODULES:
        (PACKAGE / f"{module}.py").write_text(generate(module))
