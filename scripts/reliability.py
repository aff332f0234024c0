#!/usr/bin/env python3
"""Puts the figures that attacks have left into a table: which promise, which attack, and what came of it.

    scripts/reliability.py FOLDER [--document docs/reliability.md] [--report FILE]
    scripts/reliability.py --add-soak FOLDER [--document docs/reliability.md]
    scripts/reliability.py --next-world

FOLDER holds a file `<attack>.json` of each attack that held, as `RELIABILITY_FIGURES=FOLDER` has the attacks write them. It prints the table, writes
it into the document between its two marks, and writes a report in JSON. It ends with 1 where an attack has left no figure. With `--add-soak` the
counts in FOLDER (`<attack>.total.json`) are added to those of all rounds before, in docs/soak.json.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

CRASHES = "./scripts/prove crashes"
MODELS = "./scripts/prove models"
# Each attack's name, the promises of docs/guarantees.md that it attacks, what it does, and the command that makes it alone.
ATTACKS = [
    ("power-loss", "1 2 4 8", "The power is lost at any moment: states of the disk with all that was synced, and a random, torn, reordered part of what was not",
     "./scripts/prove power_loss"),
    ("failed-calls", "1 8", "The k-th sync, write or open of the service fails; then the power is lost", "./scripts/prove power_loss"),
    ("killed-service", "1 2 3", "The service is killed under load, on SQLite", CRASHES),
    ("killed-engine", "1 9", "The engine is killed under load", CRASHES),
    ("killed-nodes", "1 2 3", "Three nodes on PostgreSQL: one killed, one frozen past its leases, the database restarted twice, answers to commits lost", CRASHES),
    ("nodes-killed-in-turn", "1 2 3", "Three nodes on PostgreSQL are killed in turn under load", CRASHES),
    ("readers", "11 19", "Three nodes on PostgreSQL write while clients list with `after` and follow a batch; nodes are killed and the database restarted", CRASHES),
    ("full-disk-sqlite", "1 2 3", "The disk fills up under load: slowly into the reserve, then at once to the last byte", CRASHES),
    ("full-disk-postgresql", "1 2 3", "The disk of PostgreSQL fills up under load, slowly and at once, to the last byte", CRASHES),
    ("fail-over", "1 2 3", "PostgreSQL under Patroni with etcd, synchronous replication and HAProxy: the leader's machine is killed, or cut off from the others, under load",
     CRASHES),
    ("ledger-sqlite", "8", "50 accounts, ten of them short of credits; the service is killed five times, on SQLite", CRASHES),
    ("ledger-postgresql", "8", "The same on PostgreSQL", CRASHES),
    ("webhooks-sqlite", "13", "Receivers that fail in three ways; the service is killed 20 times, on SQLite", CRASHES),
    ("webhooks-postgresql", "13", "The same with five kills, on PostgreSQL", CRASHES),
    ("simulation", "1-5 8 13 17 18", "Worlds that a seed decides: crashes, lost answers, engines that fail, clocks that jump", "./scripts/prove simulation"),
    ("reference-model", "1-5 8", "Random writes of two nodes that sleep, die and write late, held against a plain model of the store; on both databases", MODELS),
    ("lease-model", "2 3 8", "Every order in which two nodes can lease, lose leases and write late", MODELS),
    ("damaged-pages", "11 20", "A page or a sector of the database is zeroed, overwritten, or written to another place", "./scripts/prove damage"),
    ("clock-jumps-sqlite", "2 5", "The clock jumps by 1 s, 20 s, 1 h and 25 h, both ways, while requests gather, run and come; on SQLite", "./scripts/prove clocks"),
    ("clock-jumps-postgresql", "2 5", "The same on PostgreSQL", "./scripts/prove clocks"),
    ("proxy-caddy", "1 17", "Bulk creates by curl and `submit` through Caddy", "./scripts/prove proxies"),
    ("proxy-nginx", "1 17", "The same through nginx, with and without a buffer for requests", "./scripts/prove proxies"),
    ("proxy-haproxy", "1 17", "The same through HAProxy", "./scripts/prove proxies"),
    ("abuse-sqlite", "7 10 16", "An account that abuses the service in every known way beside an honest one, on SQLite", "./scripts/prove abuse"),
    ("abuse-postgresql", "7 10 16", "The same on PostgreSQL", "./scripts/prove abuse"),
    ("overload-sqlite", "7 10 16", "One account offers ten times what the engine does, on SQLite", "./scripts/prove overload"),
    ("overload-postgresql", "7 10 16", "The same on PostgreSQL", "./scripts/prove overload"),
    ("tenants", "7", "Every operation and page, with what belongs to another account in its path, query, body, header or cookie, by nobody, a stranger and the owner",
     "./scripts/prove tenants"),
    ("tenants-statements", "7", "The statements and rows of foreign and of unknown identifiers, compared", "./scripts/prove tenants"),
    ("planted-bugs", "1-8 11-14", "Mistakes are made in the service, one after the other: a test catches each", "./scripts/prove planted_bugs"),
    ("openapi", "10", "schemathesis in all phases against the reference", "./scripts/prove openapi"),
    ("fuzz", "10 11 14", "libFuzzer, guided by coverage, searches for inputs that break a property of request bodies, engines' answers, JSON Lines, URLs of webhooks, or keys "
     "and forms", "./scripts/prove fuzz"),
]
SOAK = pathlib.Path("docs/soak.json")
# The attacks of a soak, with what they count and how far that is to come.
SOAKED = [
    ("killed-service", "The service is killed under load, on SQLite", {"requests": 5_000_000, "kills": 3_000}),
    ("nodes-killed-in-turn", "Three nodes on PostgreSQL are killed in turn under load", {"requests": 1_000_000, "kills": 500}),
    ("simulation", "Worlds of two days that a seed decides", {"worlds": 10_000}),
]
# The tests simulate the first worlds.
FIRST_WORLD = 1_000


def record(attack, figure):
    """Leaves an attack's figure where whoever makes all of them asks for it, as `overnight_testkit::proof::record` does."""
    if folder := os.environ.get("RELIABILITY_FIGURES"):
        pathlib.Path(folder, f"{attack}.json").write_text(json.dumps({"attack": attack, "figure": figure}))


def read(folder, attack):
    path = folder / f"{attack}.json"
    return json.loads(path.read_text())["figure"] if path.exists() else None


def table(found):
    rows = [f"| {promises} | {what} | {figure or '**not made**'} | `{command}` |\n" for _, promises, what, command, figure in found]
    return "| promise | attack | figure | command |\n|---|---|---|---|\n" + "".join(rows)


def put_into(document, name, text):
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = document.read_text().partition(begin)
    _, _, behind = rest.partition(end)
    document.write_text(before + begin + text + end + behind)


def soaked():
    return json.loads(SOAK.read_text()) if SOAK.exists() else {}


def add_soak(folder, document):
    counts = soaked()
    for attack, _, goals in SOAKED:
        path = folder / f"{attack}.total.json"
        added = json.loads(path.read_text()) if path.exists() else {}
        counts[attack] = {name: counts.get(attack, {}).get(name, 0) + added.get(name, 0) for name in goals}
    SOAK.write_text(json.dumps(counts, indent=2) + "\n")
    rows = [f"| {what} | {say(counts[attack])} | {say(goals)} |\n" for attack, what, goals in SOAKED]
    text = "| attack | so far, without a fault | to come to |\n|---|---|---|\n" + "".join(rows)
    print(text, end="")
    if document:
        put_into(document, "soak", text)


def say(counts):
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--add-soak", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--next-world", action="store_true", help="the first world that no soak has simulated")
    parser.add_argument("--document", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    options = parser.parse_args()
    if options.next_world:
        return print(FIRST_WORLD + soaked().get("simulation", {}).get("worlds", 0))
    if options.add_soak:
        return add_soak(options.add_soak, options.document)
    if not options.folder:
        parser.error("FOLDER is missing")
    found = [(*attack, read(options.folder, attack[0])) for attack in ATTACKS]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    made = f"Made at commit `{commit}` on {time.strftime('%Y-%m-%d', time.gmtime())}.\n\n"
    print(table(found), end="")
    if options.document:
        put_into(options.document, "figures", made + table(found))
    if options.report:
        keys = ("attack", "promises", "description", "command", "figure")
        report = {"commit": commit, "at": int(time.time()), "attacks": [dict(zip(keys, attack)) for attack in found]}
        options.report.write_text(json.dumps(report, indent=2) + "\n")
    missing = [name for name, *_, figure in found if not figure]
    if missing:
        sys.exit(f"no figure of: {', '.join(missing)}")


if __name__ == "__main__":
    main()
