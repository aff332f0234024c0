#!/usr/bin/env python3
"""Measures the memory and the time that a long table takes from a Parquet file into the service and back, with a simulated engine.

    scripts/measure-submission.py target/release/overnight [ROWS] [--folder FOLDER]

`overnight-bench`, whose engine answers at once, stands beside the program: `cargo build --release -p overnight-cli -p overnight-bench`.
It needs pyarrow. In a folder of its own below FOLDER it writes a table of ROWS short rows (1000000), starts the service, sends the table
with `submit`, waits until all batches have ended, and writes the table again with `results --table`. It ends with 1 where a row is
missing, stands elsewhere, lost a cell or has the answer to another one, or where a command took 300 MiB of memory or more.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow
import pyarrow.parquet

MEMORY_MIB_MAX = 300
ROWS_AT_ONCE = 100_000

SETTINGS = """
data_dir = "data"
listen = "127.0.0.1:0"
aggregation_period = "200ms"
disk_reserve = "1 GiB"
[quotas]
live_requests = 100000000
stored_bytes = "1024 GiB"
[[models]]
name = "sim-model"
[[engines]]
name = "simulated"
kind = "openai"
base_url = "http://{engine}/v1"
"""


def subjects(first, count):
    return [f"ticket {row}: late by {row % 97} days" for row in range(first, first + count)]


def write_table(path, rows):
    """Row groups of other lengths than batches have."""
    schema = pyarrow.schema([("id", pyarrow.int64()), ("subject", pyarrow.string()), ("at", pyarrow.timestamp("us", tz="Europe/Berlin"))])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, rows, 122_880):
            count = min(122_880, rows - first)
            ids = pyarrow.array(range(first, first + count), pyarrow.int64())
            times = pyarrow.array([1_700_000_000_000_000 + row for row in range(first, first + count)], schema.field("at").type)
            writer.write_table(pyarrow.table([ids, pyarrow.array(subjects(first, count)), times], schema))


def check_table(path, rows):
    """Every row in its place, with its cells and its own answer."""
    table = pyarrow.parquet.ParquetFile(path)
    assert table.schema_arrow.field("at").type == pyarrow.timestamp("us", tz="Europe/Berlin"), table.schema_arrow
    first = 0
    for batch in table.iter_batches(ROWS_AT_ONCE, columns=["id", "subject", "answer", "error"]):
        count = batch.num_rows
        assert batch["id"].to_pylist() == list(range(first, first + count)), f"rows behind {first} are not in their order"
        assert batch["error"].null_count == count, f"rows behind {first} have errors"
        expected = subjects(first, count)
        assert batch["subject"].to_pylist() == expected, f"rows behind {first} have other cells"
        for row, (subject, answer) in enumerate(zip(expected, batch["answer"].to_pylist()), first):
            echo = "echo:" + hashlib.sha256(f"Summarise: {subject}".encode()).hexdigest()[:16]
            assert answer.startswith(echo), f"row {row + 1} has the answer to another one: {answer!r}"
        first += count
    assert first == rows, f"{first} of {rows} rows were written"


def peak_of(process):
    status = pathlib.Path(f"/proc/{process.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), 0)


class Measured:
    """A command run to its end: what it printed, its peak of memory, and how long it took."""

    def __init__(self, words, folder):
        begun = time.monotonic()
        self.mebibytes, ended = 0, 0
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(words, cwd=folder, stdout=out)
            while not ended:
                # The system's own figure at its end counts this process too, of which it is a fork.
                self.mebibytes = max(self.mebibytes, peak_of(process))
                time.sleep(0.02)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            out.seek(0)
            self.said = out.read().decode()
        assert status == 0, f"{words[1]} ended with {os.waitstatus_to_exitcode(status)}"
        self.seconds = time.monotonic() - begun
        self.cpu = usage.ru_utime + usage.ru_stime

    def tell(self, name, rows):
        rate = rows / self.seconds
        print(f"{name:<16} {self.mebibytes:>4} MiB at most, {self.seconds:.1f} s, {rate:.0f} rows/s, {self.cpu:.1f} s of CPU", flush=True)
        return self.mebibytes < MEMORY_MIB_MAX


def start_engine(program):
    beside = program.with_name("overnight-bench")
    engine = subprocess.Popen([str(beside), "bench-peer", json.dumps({"kind": "engine"})], stdout=subprocess.PIPE)
    return engine, json.loads(engine.stdout.readline())["listening"]


def trial(program, folder, rows):
    """Whether memory stayed within its bound."""
    write_table(folder / "tickets.parquet", rows)
    print(f"{'the table':<16} {rows} rows, {(folder / 'tickets.parquet').stat().st_size >> 20} MiB", flush=True)
    engine, address = start_engine(program)
    (folder / "overnight.toml").write_text(SETTINGS.format(engine=address))
    service = subprocess.Popen([str(program), "serve", "--quiet"], cwd=folder)
    try:
        while not (folder / "data" / "serve.json").exists():
            assert service.poll() is None, "the service ended"
            time.sleep(0.05)
        begun = time.monotonic()
        asked = ["--prompt", "Summarise: {{ subject }}", "--model", "sim-model", "--body", '{"max_tokens": 12}']
        submitted = Measured([str(program), "submit", "tickets.parquet", *asked], folder)
        is_well = submitted.tell("submit", rows)
        (folder / "batches").write_text(submitted.said)
        for batch in submitted.said.split():
            subprocess.run([str(program), "watch", batch, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        seconds = time.monotonic() - begun
        print(f"{'answered':<16} {len(submitted.said.split())} batches, {seconds:.1f} s from the first row, {rows / seconds:.0f} rows/s", flush=True)
        joined = ["--table", "tickets.parquet", "-o", "answered.parquet"]
        read = Measured([str(program), "results", "@batches", *joined], folder)
        is_well = read.tell("results --table", rows) and is_well
        print(f"{'the service':<16} {peak_of(service)} MiB at most", flush=True)
    finally:
        for process in (service, engine):
            process.terminate()
            process.wait()
    check_table(folder / "answered.parquet", rows)
    print(f"{'answered.parquet':<16} {rows} rows in their order, each with its cells and its answer", flush=True)
    return is_well


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where the folder is made: on a real disk [default: that of temporary files]")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.program).resolve()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        if not trial(program, pathlib.Path(name), arguments.rows):
            sys.exit(f"a command took {MEMORY_MIB_MAX} MiB of memory or more")


if __name__ == "__main__":
    main()
