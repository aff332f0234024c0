"""Handshakes of TLS from several addresses, beside an honest account that reads over open connections. As many plain connections show what
connections alone cost."""
import asyncio
import collections
import contextlib
import multiprocessing
import os
import ssl
import subprocess
import tempfile
import time

from .abusers import NICENESS, outcome_of
from .clients import RECEIVED_MAX, Client, next_status
from .honest import Figures, quantile
from .services import Service

NAME = "tls-handshakes"
ADDRESSES = [f"127.0.1.{number}" for number in range(2, 10)]
# Fewer of each address than it may begin.
CONNECTIONS_PER_SECOND, WAITING_MAX = 500, 500
READERS, READS_PER_SECOND = 4, 100
ROUNDS = 3
# The most by which the p99 beside handshakes may exceed that beside plain connections, in milliseconds.
DIFFERENCE_MS = 5
COLUMNS = ("beside", "connections a second", "read p50 ms", "p99")
processes = multiprocessing.get_context("fork")


def certify(folder):
    """The files of a new certificate, whose signatures are the longest that are usual."""
    cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def any_certificate():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def client_hello():
    """The first message of a handshake. Sent again and again, it costs its sender nothing, and the service a signature."""
    outgoing = ssl.MemoryBIO()
    handshake = any_certificate().wrap_bio(ssl.MemoryBIO(), outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        handshake.do_handshake()
    return outgoing.read()


async def answer_to(client, first_bytes):
    async with client.connection() as (reader, writer):
        writer.write(first_bytes)
        return "answered" if await reader.read(RECEIVED_MAX) else "cut"


async def flood(clients, first_bytes, stop):
    """Opens a connection at each due time, and waits for the first answer; how the connections ended."""
    outcomes, tasks, start, number = collections.Counter(), set(), time.monotonic(), 0

    async def one(client):
        outcomes[await outcome_of(answer_to(client, first_bytes))] += 1

    while not stop.is_set():
        await asyncio.sleep(max(0.0, start + number / CONNECTIONS_PER_SECOND - time.monotonic()))
        if len(tasks) < WAITING_MAX:
            tasks.add(task := asyncio.create_task(one(clients[number % len(clients)])))
            task.add_done_callback(tasks.discard)
        number += 1
    return outcomes, time.monotonic() - start


def run_flood(clients, first_bytes, stop, outcomes):
    os.nice(NICENESS)
    outcomes.put(asyncio.run(flood(clients, first_bytes, stop)))


async def read(client, figures, seconds):
    """Reads at due times over connections that stay open."""
    start, count = time.monotonic() + 0.2, int(READS_PER_SECOND * seconds)

    async def one(place):
        async with client.connection() as (reader, writer):
            for number in range(place, count, READERS):
                due_at = start + number / READS_PER_SECOND
                await asyncio.sleep(max(0.0, due_at - time.monotonic()))
                writer.write(client.head("GET", "/v1/account"))
                status = await next_status(reader)
                figures.reads.append((time.monotonic() - due_at) * 1e3)
                if status != 200:
                    figures.refused[status] += 1

    await asyncio.gather(*(one(place) for place in range(READERS)))


def measure_one(honest, first_bytes, figures, seconds):
    """One phase; how many connections a second were opened beside it."""
    stop, outcomes = processes.Event(), processes.Queue()
    clients = [Client(honest.port, address, "") for address in ADDRESSES]
    process = processes.Process(target=run_flood, args=(clients, first_bytes, stop, outcomes), daemon=True)
    if first_bytes:
        process.start()
        time.sleep(min(1.0, seconds / 2))
    asyncio.run(read(honest, figures, seconds))
    if not first_bytes:
        return 0.0
    stop.set()
    answered, elapsed = outcomes.get(timeout=60)
    process.join()
    return answered["answered"] / elapsed


def measure(options, verdict, engine_port):
    """Prints and judges reads alone, beside plain connections and beside handshakes."""
    with tempfile.TemporaryDirectory(prefix="disturb-tls-") as folder:
        service = Service(options.program, folder, engine_port, None, timeout=2, tls=certify(folder))
        try:
            service.wait_for_start()
            _, key = service.account("honest")
            honest = Client.with_key(service.port, "127.0.0.1", key).over(any_certificate())
            judge(verdict, *phases(options, honest))
        finally:
            service.stop()


def phases(options, honest):
    call = Client(honest.port, "127.0.0.1", "").head("GET", "/livez")
    floods = {"alone": b"", "plain connections": call, NAME: client_hello()}
    figures, rates = {name: Figures(name) for name in floods}, collections.defaultdict(list)
    for _ in range(1 if options.short else ROUNDS):
        for name, first_bytes in floods.items():
            rates[name].append(measure_one(honest, first_bytes, figures[name], options.seconds))
    print("\n| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for name, figure in figures.items():
        rate = sum(rates[name]) / len(rates[name])
        print(f"| {name} | {rate:.0f} | {quantile(figure.reads, 0.5):.1f} | {quantile(figure.reads, 0.99):.1f} |", flush=True)
    print()
    return figures, rates


def judge(verdict, figures, rates):
    refused = {name: dict(it.refused) for name, it in figures.items() if it.refused}
    verdict.judge(not refused, "every read over an open connection is answered with success", refused or "all")
    inert = [name for name, each in rates.items() if name != "alone" and not all(each)]
    verdict.judge(not inert, "every flood of connections reaches the service", inert or "all")
    plain, secured = (quantile(figures[name].reads, 0.99) for name in ("plain connections", NAME))
    verdict.judge(secured <= plain + DIFFERENCE_MS, f"reads beside handshakes: p99 as beside plain connections, to {DIFFERENCE_MS} ms",
                  f"{secured:.1f} and {plain:.1f} ms", is_time=True)
