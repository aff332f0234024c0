#!/usr/bin/env python3
"""Compiles the tests of the libraries, or runs what was compiled.

    scripts/library_tests.py --compile      compiles them, as lib.sh chooses
    scripts/library_tests.py [TARGET...]    runs those of these targets (lib, it, tidy), of all crates; all of them where none is named

Cargo would run them too, and wait until nothing else is compiled in the same folder: the programs are compiled while these tests run.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parent.parent


def listing():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "library-tests.json"


def compile_all():
    """Compiles them, and writes down each: the crate, the target and the program."""
    command = ["bash", "-c", '. scripts/lib.sh && cargo test --locked "${libraries[@]}" "${library_tests[@]}" --no-run --message-format json-render-diagnostics']
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    tests = [message for message in messages if message.get("executable") and message["profile"]["test"]]
    found = [(pathlib.Path(test["manifest_path"]).parent.name, "lib" if "lib" in test["target"]["kind"] else test["target"]["name"], test["executable"]) for test in tests]
    listing().write_text(json.dumps(found))


def compiled():
    """What was compiled: (crate, target) to the program."""
    return {(crate, target): program for crate, target, program in json.loads(listing().read_text())}


def setting(crate):
    """Where a program of tests runs, and with which environment, as cargo sets them."""
    return {"cwd": ROOT / "crates" / crate, "env": {**os.environ, "CARGO_PKG_NAME": f"overnight-{crate}"}}


def main():
    if sys.argv[1:] == ["--compile"]:
        return compile_all()
    targets = sys.argv[1:] or ["lib", "it", "tidy"]
    for (crate, target), program in sorted(compiled().items()):
        if target in targets:
            print(f"     Running {target} of overnight-{crate} ({program})", file=sys.stderr, flush=True)
            if subprocess.run([program], **setting(crate)).returncode != 0:
                sys.exit(f"{target} of overnight-{crate} failed.")


if __name__ == "__main__":
    main()
