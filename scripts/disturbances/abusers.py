"""Who abuses the service: an account with a key, users of the console and addresses. Each abuse runs in a process of its own."""
import asyncio
import collections
import dataclasses
import os

from .clients import Client

# Beside the service and the honest account: an abuser's work costs this machine what it would cost another.
NICENESS = 15
ABUSES = {}


@dataclasses.dataclass
class Abuser:
    """What an abuse has at hand."""

    client: Client
    # Signed-in browsers, each of another user.
    browsers: list
    account: str
    is_short: bool
    # How often the service answered with which status, and what else came of a try.
    outcomes: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def page(self, path):
        return f"/console/{self.account}/{path}"

    def some(self, count):
        """A number of connections or workers; a short run has a quarter of them."""
        return max(2, count // 4) if self.is_short else count

    async def repeat(self, count, work, pause=0.0):
        """So many workers, each of which does `work` again and again, whatever comes of it."""
        async def worker(number):
            while True:
                self.outcomes[await outcome_of(work(number))] += 1
                await asyncio.sleep(pause)
        await asyncio.gather(*(worker(number) for number in range(count)))


async def outcome_of(work):
    """A status, or another word that the work returns; or how it failed."""
    try:
        outcome = await work
    except asyncio.TimeoutError:
        return "given up"
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError, ValueError):
        return "cut"
    return outcome[0] if isinstance(outcome, tuple) else outcome


def abuse(work):
    """Makes an abuse known by its function's name."""
    ABUSES[work.__name__.replace("_", "-")] = work
    return work


def run(name, abuser, begun, stop, outcomes):
    """Runs an abuse until `stop` is set, then puts its name and its outcomes into the queue; sets `begun` with the first outcome. Open
    connections end with the process."""
    async def until_stopped():
        work = asyncio.create_task(ABUSES[name](abuser))
        while not stop.is_set() and not work.done():
            if abuser.outcomes:
                begun.set()
            await asyncio.sleep(0.05)
        if work.done():
            work.result()
        # `wait_for` of Python before 3.12 loses a cancel that comes with its answer.
        while not work.done():
            work.cancel()
            await asyncio.wait([work], timeout=1)
        if not work.cancelled():
            work.result()
    os.nice(NICENESS)
    asyncio.run(until_stopped())
    outcomes.put((name, dict(abuser.outcomes)))
