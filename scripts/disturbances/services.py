"""The service under test, in a folder of its own, with the accounts and users that the run needs."""
import contextlib
import json
import os
import re
import socket
import subprocess
import time
import urllib.request

from .clients import Client, cookie_in

# The service is on this machine, whatever proxies the environment names.
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

# The service takes each variable that begins so for a setting.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("OVERNIGHT_")}
SLOTS = 16
# Credits per million tokens.
INPUT_PRICE, OUTPUT_PRICE = "1", "2"
# What docs/limits.md lets one process hold, in MiB: all responses, four texts of prompts, and an answer in each slot. The rest is what the
# program, its connections, its caches and two hashes of passwords take.
MEMORY_MAX_MIB = 256 + 4 * 32 + SLOTS * 16 + 256

SETTINGS = """
data_dir = "{folder}/data"
metrics_listen = "127.0.0.1:{metrics_port}"
aggregation_period = "50ms"
linger = "{linger}"
[console]
trusted_proxies = []
[[models]]
name = "{model}"
input_price = "{input_price}"
output_price = "{output_price}"
"""
# The engine that answers at once.
ENGINE = """
[[engines]]
name = "e"
kind = "openai"
base_url = "http://127.0.0.1:{engine_port}/v1"
models = {{ "{model}" = "m" }}
max_concurrency = {slots}
request_timeout = "{timeout}s"
"""


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [bound.getsockname()[1] for bound in sockets]


class Service:
    """A running `overnight serve`."""

    def __init__(self, program, folder, engine_port, database_url, timeout, model="m", ports=None, linger="0s", tls=None, engine=ENGINE):
        self.port, self.metrics_port = ports or free_ports(2)
        self.log = f"{folder}/log"
        settings = f"{folder}/overnight.toml"
        with open(settings, "w") as file:
            file.write((SETTINGS + engine).format(folder=folder, metrics_port=self.metrics_port, engine_port=engine_port, timeout=timeout,
                                       input_price=INPUT_PRICE, output_price=OUTPUT_PRICE, slots=SLOTS, model=model, linger=linger))
            if tls:
                file.write('[tls]\ncert = "{}"\nkey = "{}"\n'.format(*tls))
        self.command = [os.path.abspath(program), "--config", settings, *(["--database-url", database_url] if database_url else [])]
        with open(self.log, "wb") as log:
            serve = [*self.command, "serve", "--listen", f"127.0.0.1:{self.port}"]
            self.process = subprocess.Popen(serve, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log)

    def wait_for_start(self):
        for _ in range(300):
            with contextlib.suppress(OSError):
                return open_url(f"http://127.0.0.1:{self.metrics_port}/readyz", timeout=1).close()
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"The service did not start:\n{open(self.log).read()[-2000:]}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def run(self, *arguments):
        """What a command of the program prints as JSON, beside the running service."""
        done = subprocess.run([*self.command, "--json", *arguments], env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"overnight {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def account(self, name):
        """The identifier and the key of a new account with credits."""
        account = self.run("account", "create", "--name", name)["id"]
        self.run("account", "activate", account)
        self.run("account", "grant", account, "1000000")
        return account, self.run("key", "create", "--account", account)["key"]

    async def sign_in(self, account, email, address):
        """A browser of a new user who is an owner of the account."""
        link = self.run("user", "create", email, "--account", account, "--role", "owner")["url"]
        browser = Client.with_session(self.port, address, "none")
        status, answer = await browser.post_form("/console/" + link.split("/console/", 1)[1], "")
        if status != 303:
            raise SystemExit(f"The sign-in by a link was answered with {status}.")
        return Client.with_session(self.port, address, cookie_in(answer))

    def metric(self, name, label=""):
        """The sum of a metric over its series with this label, or over all."""
        text = open_url(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10).read().decode()
        series = re.findall(rf"^{name}(\{{.*\}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for labels, value in series if label in labels)

    def said(self, *words):
        """The lines of the log that contain one of the words."""
        with open(self.log, errors="replace") as log:
            return [line.rstrip() for line in log if any(word in line for word in words)]

    def forget_peak(self):
        """Peak memory counts from now on."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def peak_mib(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) >> 10
