"""What operators do to every account, against the real service."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Connect
from test_documents import blocks, run

import overnight
from overnight import Administration, Overnight
from overnight._calls import new_key

HOOK = "https://hooks.example/low"


@pytest.fixture(scope="module")
def admin_key(service: overnight.LocalService) -> str:
    """A key with the scope `admin`, in an account of its own."""

    def tell(*arguments: str) -> str:
        ran = subprocess.run(
            [service.program, *arguments],
            cwd=service.folder,
            env={"PATH": os.environ["PATH"]},
            check=True,
            capture_output=True,
            text=True,
        )
        return ran.stdout.strip()

    account = tell("account", "create", "--name", "operations")
    made = tell("key", "create", "--account", account, "--name", "tests", "--scope", "admin")
    return made.splitlines()[0]


@pytest.fixture
def admin(service: overnight.LocalService, admin_key: str, connect: Connect) -> Administration:
    return connect(service.url, admin_key).administration


def test_an_account_is_made_set_up_and_used(
    service: overnight.LocalService, admin: Administration, connect: Connect
) -> None:
    key = new_key()
    made = admin.create_account("acme", key=key)
    assert admin.create_account("acme", key=key) == made and not made.payments_activated
    with pytest.raises(overnight.IdempotencyKeyReusedError):
        admin.create_account("another", key=key)
    created = admin.create_api_key(made.id, name="nightly", scope="read", expires_in=3_600)
    assert (created.record.name, created.record.scope) == ("nightly", "read")
    assert admin.activate_account(made.id).payments_activated
    theirs = connect(service.url, created.key)
    assert theirs.get_account().id == made.id
    with pytest.raises(overnight.PermissionDeniedError):
        theirs.administration.get_account(made.id)
    assert admin.revoke_api_key(made.id, created.record.id).revoked_at is not None
    with pytest.raises(overnight.AuthenticationError):
        theirs.get_account()
    listed = admin.list_api_keys(made.id)
    assert [key.id for key in listed.data] == [created.record.id] and not listed.is_cut
    assert admin.suspend_account(made.id).suspended and not admin.resume_account(made.id).suspended


def test_credits_are_granted_once_and_counted(admin: Administration) -> None:
    made = admin.create_account("funded", payments_activated=True)
    assert made.payments_activated
    account = made.id
    first = admin.create_grant(account, "25", source="invoice 7")
    again = admin.create_grant(account, "25", source="invoice 7")
    assert (first.is_new, again.is_new, again.available) == (True, False, "25")
    admin.create_grant(account, "-0.5")
    assert [grant.amount for grant in admin.list_grants(account)] == ["-0.5", "25"]
    totals = admin.get_account_totals(account)
    assert (totals.available, totals.spent, totals.requests) == ("24.5", "0", 0)
    assert list(admin.list_usage(account, group_by="api_key")) == []
    with pytest.raises(overnight.InvalidInputError):
        admin.create_grant(account, "much")


def test_what_is_set_is_shown(admin: Administration) -> None:
    account = admin.create_account("set").id
    assert admin.set_monthly_credits(account, "12.5").monthly_credits == "12.5"
    assert admin.set_monthly_credits(account, None).monthly_credits is None
    low = admin.set_low_credits(account, "10", HOOK, key="low-1").low_credits
    assert low == overnight.LowCredits("10", HOOK)
    assert admin.set_low_credits(account, None).low_credits is None
    assert admin.set_low_credits(account, "10", HOOK, key="low-1").low_credits is None, "it was done before"
    assert admin.set_retention(account, 86_400).retention_seconds == 86_400
    assert admin.set_retention(account, "none").retention_seconds is None
    quotas = admin.set_account_limits(account, tokens_per_day=7, live_requests="none").quotas
    assert quotas is not None and (quotas.tokens_per_day.limit, quotas.live_requests.limit) == (7, None)
    assert admin.set_account_limits(account, tokens_per_day=None).quotas != quotas
    for wrong in (lambda: admin.set_monthly_credits(account, "0"), lambda: admin.set_low_credits(account, "1")):
        with pytest.raises(overnight.InvalidInputError):
            wrong()


def test_an_account_is_closed_and_erased(admin: Administration) -> None:
    account = admin.create_account("gone").id
    with pytest.raises(overnight.InvalidInputError):
        admin.erase_account(account)
    assert admin.close_account(account).closed and admin.close_account(account).closed
    assert admin.erase_account(account).closed
    with pytest.raises(overnight.NotFoundError):
        admin.get_account("acct_00000000000000000000000000")


def test_accounts_are_listed_over_pages(admin: Administration, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [admin.create_account(f"listed {number}").id for number in range(5)]
    monkeypatch.setattr("overnight._admin_operations.PAGE", 2)
    assert [account.id for account in admin.list_accounts()][-5:] == made


def test_the_program_of_the_document_runs(service: overnight.LocalService, admin_key: str, tmp_path: Path) -> None:
    (program,) = blocks("docs/admin-api.md")
    key = run(program, tmp_path, OVERNIGHT_URL=service.url, OVERNIGHT_API_KEY=admin_key).strip()
    with Overnight(base_url=service.url, api_key=key) as client:
        account = client.get_account()
    assert (account.name, account.available) == ("acme", "25")
    assert account.low_credits == overnight.LowCredits("5", "https://example.com/hooks/overnight")
