"""What must hold beside every abuse, and whether it did."""
import asyncio
import decimal
import time

from .engines import COMPLETION_TOKENS, PROMPT_TOKENS
from .services import INPUT_PRICE, MEMORY_MAX_MIB, OUTPUT_PRICE

THROUGHPUT_MIN = 0.8
P99_TIMES_MAX, P99_MS = 3, 100
ENDINGS = ("completed", "failed", "cancelled")


class Verdict:
    """Prints each goal as it is judged, and remembers what was missed."""

    def __init__(self, asserts_times):
        self.asserts_times = asserts_times
        self.is_missed = False

    def judge(self, holds, goal, found, is_time=False):
        counts = not is_time or self.asserts_times
        print(f"{'PASS' if holds else 'MISS'}  {goal}: {found}{'' if counts else ' (a time: not asserted)'}", flush=True)
        self.is_missed |= counts and not holds


def judge_phases(verdict, phases, outcomes, is_patient):
    """What the phases showed. The first is without an abuse. `is_patient`: each phase went on until the honest account's requests completed."""
    alone, *others = phases
    refused = {figures.name: dict(figures.refused) for figures in phases if figures.refused}
    verdict.judge(not refused, "every call of the honest account is answered with success", refused or "all")
    effective = {name for name, counts in outcomes if any(isinstance(kind, int) or kind in ("held", "given up") for kind in counts)}
    inert = sorted({name for name, _ in outcomes} - effective)
    verdict.judge(not inert, "every abuse reaches the service", inert or "all")
    peak = max(figures.peak_mib for figures in phases)
    verdict.judge(peak <= MEMORY_MAX_MIB, f"the service takes at most {MEMORY_MAX_MIB} MiB", f"{peak} MiB")
    paused = [figures.name for figures in phases if figures.paused]
    verdict.judge(not paused, "no engine replica is paused at the end of a phase", paused or "none")
    if is_patient:
        starved = [f"{it.name} {it.completed}/{it.sent}" for it in phases if it.completed < it.sent]
        verdict.judge(not starved, "every request of the honest account completes while the abuse goes on", starved or "all")
    slow = [f"{it.name} {it.completed}/{it.sent}" for it in others if it.completed / it.sent < THROUGHPUT_MIN * alone.completed / alone.sent]
    verdict.judge(not slow, "at least 80 % of the throughput alone", "; ".join(slow) or "all", is_time=True)
    for place, what in ((1, "create"), (3, "account")):
        most = max(P99_TIMES_MAX * alone.latencies()[place], P99_MS)
        slow = [f"{it.name} {it.latencies()[place]:.0f} ms" for it in others if not it.latencies()[place] <= most]
        verdict.judge(not slow, f"{what}: p99 of at most {most:.0f} ms", "; ".join(slow) or "all", is_time=True)


async def wait_for_end(client, patience):
    """Waits until nothing of the account waits or runs; how many requests ended how, and how many did not."""
    until = time.monotonic() + patience
    while (live := await client.count("registered") + await client.count("in%20progress")) and time.monotonic() < until:
        await asyncio.sleep(0.5)
    return {status: await client.count(status) for status in ENDINGS}, live


def judge_end(verdict, service, accounts, patience):
    """What the accounts are left with: `accounts` has the name, the identifier and the client of each."""
    completed = 0
    for name, account, client in accounts:
        began_at = time.monotonic()
        if name != "honest":
            asyncio.run(client.cancel_all())
        ended, live = asyncio.run(wait_for_end(client, patience))
        found = f"{', '.join(f'{count} {status}' for status, count in ended.items())}; {live} live after {time.monotonic() - began_at:.0f} s"
        verdict.judge(live == 0, f"every request of the {name} account ends", found)
        if name == "honest":
            verdict.judge(ended["failed"] == ended["cancelled"] == 0, "every request of the honest account completes", found)
        judge_charges(verdict, service, name, account, ended["completed"])
        completed += ended["completed"]
    counted = service.metric("overnight_requests_ended_total", 'outcome="completed"')
    verdict.judge(counted == completed, "each completed request completes once", f"{counted:.0f} completions of {completed} requests")
    pauses, panics = service.said("engine replica paused"), service.said("panicked")
    verdict.judge(not pauses, "no engine replica is paused at any time", f"{len(pauses)} pauses in the log")
    verdict.judge(not panics, "nothing panics", f"{len(panics)} panics in the log")
    audit = service.run("audit")
    broken = [rule["rule"] for rule in audit["rules"] if rule["breaches"]]
    verdict.judge(audit["is_sound"], "the audit holds", broken or f"{len(audit['rules'])} rules")


def judge_charges(verdict, service, name, account, completed):
    """An account pays for the tokens of its completed requests, and for nothing else."""
    price = (PROMPT_TOKENS * decimal.Decimal(INPUT_PRICE) + COMPLETION_TOKENS * decimal.Decimal(OUTPUT_PRICE)) / 1_000_000
    spent = service.run("account", "spend", account)
    charged = sum((decimal.Decimal(str(row["credits"])) for row in spent), decimal.Decimal())
    verdict.judge(charged == completed * price, f"the {name} account is charged for the tokens that it used",
                  f"{charged.normalize():f} credits for {completed} completed requests")
