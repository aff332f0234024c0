#!/usr/bin/env python3
"""Compiles the tests of the libraries, or runs what was compiled.

    scripts/library_tests.py --compile      compiles them, as lib.sh chooses
    scripts/library_tests.py [TARGET...]    runs those of these targets (lib, it, tidy), of all crates; all of them where none is named

Cargo would run them too, and wait until nothing else is compiled in the same folder: the programs are compiled while these tests run.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As lib.sh reads it.
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute()
LISTING = TARGET / "library-tests.json"
TARGETS = ["lib", "it", "tidy"]
# They are tested in the form of the programs.
PROGRAMS = {"overnight-cli", "overnight-engine", "overnight-simulation"}


def check():
    """Every crate has its form, and no test a target that is never run."""
    told = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    forms = (ROOT / "scripts/libraries.toml").read_text()
    for package in json.loads(told)["packages"]:
        if package["name"] in PROGRAMS:
            continue
        if f"[profile.release.package.{package['name']}]" not in forms:
            sys.exit(f"scripts/libraries.toml does not say how {package['name']} is compiled")
        for target in package["targets"]:
            if "test" in target["kind"] and target["name"] not in TARGETS:
                sys.exit(f"{target['src_path']} is never run: the tests of a library are in tests/it")


def compile_all():
    """Compiles them, and writes down each: the crate, the target and the program."""
    check()
    LISTING.unlink(missing_ok=True)
    command = ["bash", "-c", '. scripts/lib.sh && cargo test --locked "${libraries[@]}" "${library_tests[@]}" --no-run --message-format json-render-diagnostics']
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    built = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    tests = [message for message in messages if message.get("executable") and message["profile"]["test"]]
    found = [(pathlib.Path(test["manifest_path"]).parent.name, "lib" if "lib" in test["target"]["kind"] else test["target"]["name"], test["executable"]) for test in tests]
    LISTING.write_text(json.dumps({"of": str(ROOT), "tests": found}))


def compiled():
    """What was compiled of this checkout: (crate, target) to the program."""
    listing = json.loads(LISTING.read_text()) if LISTING.exists() else {}
    if listing.get("of") != str(ROOT):
        sys.exit("nothing of this checkout is compiled: run scripts/library_tests.py --compile")
    return {(crate, target): program for crate, target, program in listing["tests"]}


def setting(crate):
    """Where a program of tests runs, and with which environment, as cargo sets them."""
    folder = ROOT / "crates" / crate
    return {"cwd": folder, "env": {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "CARGO_PKG_NAME": f"overnight-{crate}"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args()
    if options.compile:
        return compile_all()
    targets, programs = options.targets or TARGETS, compiled()
    for target in targets:
        if target not in {of for _, of in programs}:
            parser.error(f"there is no target {target}; there are: {', '.join(TARGETS)}")
    for (crate, target), program in sorted(programs.items()):
        if target in targets:
            print(f"     Running {target} of overnight-{crate} ({program})", file=sys.stderr, flush=True)
            if subprocess.run([program], **setting(crate)).returncode != 0:
                sys.exit(f"{target} of overnight-{crate} failed.")


if __name__ == "__main__":
    main()
