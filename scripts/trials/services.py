"""The service under test, in a folder of its own."""
import contextlib
import json
import pathlib
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

from .outcomes import Failed, wait_until

# Everything is on this machine, whatever proxies the environment names.
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
MODEL = "smollm2"
# The longest wait for a file of prompts, in seconds.
PATIENCE = 1800

SETTINGS = """listen = "127.0.0.1:{port}"
data_dir = "{folder}/data"
aggregation_period = "0s"

[[models]]
name = "{model}"

"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return bound.getsockname()[1]


class Service:
    """`overnight` with the settings of one engine. `serve` is started and stopped; other commands run to their end."""

    def __init__(self, program, folder, engine_settings):
        self.program, self.folder = program, pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.port, self.files, self.process = free_port(), 0, None
        self.configure(engine_settings)

    def configure(self, engine_settings):
        text = SETTINGS.format(port=self.port, folder=self.folder, model=MODEL) + engine_settings
        (self.folder / "overnight.toml").write_text(text)

    def command(self, *arguments):
        return [self.program, "--config", str(self.folder / "overnight.toml"), *arguments]

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command("serve"), cwd=self.folder, stdout=log, stderr=log)
        wait_until(self.is_ready, 30, "the service does not start")
        return self

    def is_ready(self):
        with contextlib.suppress(OSError):
            return open_url(f"http://127.0.0.1:{self.port}/readyz", timeout=1).status == 200

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def run(self, *arguments, codes=(0,)):
        """What a command prints, parsed as one JSON document."""
        done = subprocess.run(self.command("--json", "--quiet", *arguments), cwd=self.folder, capture_output=True, timeout=PATIENCE)
        if done.returncode not in codes:
            text = (done.stdout + done.stderr).decode(errors="replace")
            raise Failed(f"`overnight {' '.join(arguments)}` exits with {done.returncode}: {text[-300:]}")
        return json.loads(done.stdout)

    def write(self, bodies):
        """Writes a file of prompts, each with its row in the metadata."""
        self.files += 1
        path = self.folder / f"prompts-{self.files}.jsonl"
        lines = [{"request_body": {"model": MODEL, **body}, "metadata": {"row": row}} for row, body in enumerate(bodies)]
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    def submit(self, bodies, *arguments):
        """The identifier of a new batch. Exit code 1 says that a request failed."""
        return self.run("submit", self.write(bodies), *arguments, codes=(0, 1))["id"]

    def records(self, batch):
        """The full records of a batch in the order of its file. Bytes that are not UTF-8 are a failure.
        Exit code 1 says that a request failed."""
        done = subprocess.run(self.command("results", batch), capture_output=True, timeout=PATIENCE)
        records = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
        return sorted(records, key=lambda record: record["metadata"]["row"])

    def answer(self, bodies):
        return self.records(self.submit(bodies, "--wait"))

    def counts(self, batch):
        return self.run("status", batch)["requests_counts"]

    def waiting_for(self):
        """The reason for which the newest request waits, or None."""
        newest = self.run("list", "requests", "--limit", "1")[0]["id"]
        return self.run("status", newest).get("waiting_for", {}).get("reason")

    def metric(self, name):
        text = open_url(f"http://127.0.0.1:{self.port}/metrics", timeout=10).read().decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))
