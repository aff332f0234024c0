#!/usr/bin/env python3
"""Measures the memory and the time that the command line takes for a long table, without an engine.

    scripts/measure-table.py target/release/overnight [ROWS] [--format csv|jsonl|csv.gz]

It starts the service in a folder of its own, prices the table (`submit --dry-run`: the rows are checked, then rendered and read again, and
nothing is sent) with a tenth of the rows and with all of them, and prints the peak memory of the command. Memory that grows with the rows
beyond one batch of 100,000 is a bug.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import time

SETTINGS = """
data_dir = "data"
listen = "127.0.0.1:0"
[[models]]
name = "m"
input_price = "1"
output_price = "1"
[[engines]]
name = "nowhere"
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""


def write(path, rows, kind):
    body = "a ticket of some length, as people write them " * 4
    opened = gzip.open if kind.endswith(".gz") else open
    with opened(path, "wt") as out:
        if kind.startswith("csv"):
            out.write("id,subject,body\n")
        for row in range(rows):
            if kind.startswith("csv"):
                out.write(f'{row},"subject, {row}","{body}{row}"\n')
            else:
                out.write(json.dumps({"id": row, "subject": f"subject {row}", "body": f"{body}{row}"}) + "\n")


def measure(program, folder, rows, kind):
    path = folder / f"table.{kind}"
    write(path, rows, kind)
    words = [program, "submit", path.name, "--prompt", "{{ subject }}: {{ body }}", "--model", "m", "--dry-run", "--json"]
    begun = time.monotonic()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE)
    said = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - begun
    counted = json.loads(said)["requests"]
    assert counted == rows, f"{counted} of {rows} rows were priced"
    print(f"{rows:>10} rows of {kind}, {path.stat().st_size >> 20:>5} MiB: {usage.ru_maxrss >> 10:>4} MiB at most, {took:.1f} s")
    path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--format", default="csv", choices=["csv", "jsonl", "csv.gz"])
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "overnight.toml").write_text(SETTINGS)
        service = subprocess.Popen([program, "serve", "--quiet"], cwd=folder)
        try:
            while not (folder / "data" / "serve.json").exists():
                assert service.poll() is None, "the service ended"
                time.sleep(0.05)
            for rows in (arguments.rows // 10, arguments.rows):
                measure(program, folder, rows, arguments.format)
        finally:
            service.terminate()
            service.wait()


if __name__ == "__main__":
    main()
