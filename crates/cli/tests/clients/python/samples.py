"""The samples of the reference's page, each in a shell, in Python and in JavaScript, are correct."""

import html.parser
import os
import re
import subprocess
import sys
import time
import urllib.request

from support import KEY, MODEL, STEP_S, URL, WAITING_MODEL, reset_watchdog, same

SAMPLE_MODEL = "llama-3.1-8b-instruct"
ID = re.compile(r"(?:req|batch|acct|key)_[0-9a-hjkmnp-tv-z]{26}")
ADMIN_KEY = os.environ["CLIENT_ADMIN_KEY"]
RUNNERS = {
    "curl": ["bash", "-euo", "pipefail", "-c"],
    "Python": [sys.executable, "-c"],
    "JavaScript": ["node", "--input-type=module", "-e"],
}


class Samples(html.parser.HTMLParser):
    """The samples in the page's sections, by operation and language."""

    def __init__(self):
        super().__init__()
        self.found = {}
        self.operation = self.language = self.inside = None

    def handle_starttag(self, tag, attributes):
        if tag == "section":
            self.operation = dict(attributes)["id"]
        elif tag == "details":
            self.language = ""
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None
        if tag == "details":
            self.language = None

    def handle_data(self, text):
        if self.language is None:
            return
        if self.inside == "summary":
            self.language = text
        elif self.inside == "code":
            key = (self.operation, self.language)
            self.found[key] = self.found.get(key, "") + text


samples = Samples()
with urllib.request.urlopen(f"{URL}/docs") as page:
    samples.feed(page.read().decode())


class Caller:
    def __init__(self, language):
        self.language = language
        self.environment = os.environ | {"URL": URL, "KEY": KEY}
        self.called = set()

    def call(self, operation, model=MODEL, requests=()):
        """The output of a sample whose placeholder identifiers are replaced by real ones."""
        reset_watchdog()
        self.called.add(operation)
        code = samples.found[operation, self.language].replace(SAMPLE_MODEL, model)
        for sample, request in zip(ID.findall(code), requests):
            code = code.replace(sample, request)
        ran = subprocess.run([*RUNNERS[self.language], code], env=self.environment, capture_output=True, text=True)
        same((ran.returncode, ran.stderr), (0, ""))
        assert "invalid_request_error" not in ran.stdout, ran.stdout
        return ran.stdout

    def created(self, operation, **changes):
        return ID.search(self.call(operation, **changes)).group()

    def use(self, request, batch=""):
        self.environment |= {"REQUEST_ID": request, "BATCH_ID": batch}


def administrate(caller):
    caller.environment["KEY"] = ADMIN_KEY
    account = caller.created("admin_create_account")
    caller.environment["ACCOUNT_ID"] = account
    assert account in caller.call("admin_list_accounts")
    standing = ["get_account", "activate_account", "suspend_account", "resume_account"]
    for operation in [*standing, "set_account_limits", "set_monthly_credits", "set_low_credits", "set_retention"]:
        assert account in caller.call(f"admin_{operation}"), operation
    key = caller.created("admin_create_api_key")
    caller.environment["API_KEY_ID"] = key
    assert key in caller.call("admin_list_api_keys")
    assert key in caller.call("admin_revoke_api_key")
    assert "invoice" in caller.call("admin_create_grant")
    assert "invoice" in caller.call("admin_list_grants")
    assert account in caller.call("admin_get_account_totals")
    assert "list" in caller.call("admin_list_usage")
    for operation in ["close_account", "erase_account"]:
        assert account in caller.call(f"admin_{operation}"), operation


def play(language):
    caller = Caller(language)
    requests = [caller.created("create_request") for _ in range(2)]
    caller.use(requests[0])
    assert requests[0] in caller.call("get_request_status")
    assert requests[0] in caller.call("list_requests")
    batch = caller.created("create_batch", requests=requests)
    caller.use(requests[0], batch)
    while "completed" not in re.sub(r"[\"']?completed[\"']?:", "", caller.call("get_batch_status")):
        time.sleep(STEP_S)
    assert "capital of France" in caller.call("get_request")
    for operation in ["get_batch", "get_batch_requests", "get_batch_results"]:
        assert requests[1] in caller.call(operation), operation
    assert batch in caller.call("list_batches")
    assert requests[0] in caller.call("delete_request")
    assert batch in caller.call("delete_batch")

    waiting = [caller.created("create_request", model=WAITING_MODEL) for _ in range(2)]
    caller.use(waiting[0], caller.created("create_batch", requests=waiting))
    assert "cancelled" in caller.call("cancel_request")
    assert "cancelled" in caller.call("cancel_batch")
    assert MODEL in caller.call("list_models")
    caller.call("get_account")
    assert MODEL in caller.call("list_usage")
    administrate(caller)
    same(caller.called, {operation for operation, of in samples.found if of == language})
    print("ok", language)


for language in RUNNERS:
    play(language)
