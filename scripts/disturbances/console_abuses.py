"""Abuses of the console by members of an account, and by nobody with a password."""
import asyncio
import random

from .abusers import abuse
from .clients import next_status

FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


@abuse
async def rotations(abuser):
    """Signing secrets replaced, again and again, over 150 connections that stay."""
    browser = abuser.browsers[0]

    async def rotate(number):
        async with browser.connection() as (reader, writer):
            for _ in range(1_000):
                writer.write(browser.head("POST", abuser.page("webhooks/rotate"), len("overlap=0"), FORM) + b"overlap=0")
                abuser.outcomes[await next_status(reader)] += 1
            return "done"
    await abuser.repeat(150, rotate)


@abuse
async def abandoned_searches(abuser):
    """Searches that find nothing, 30 at once, whose connections break after a tenth of a second."""
    browser = abuser.browsers[0]

    async def search(number):
        return await browser.call("GET", abuser.page(f"requests?search=nothing-{random.random()}"), give_up_after=0.1)
    await abuser.repeat(30, search)


@abuse
async def live_pages(abuser):
    """Pages that follow what happens: 400, of four users."""
    async def follow(number):
        browser = abuser.browsers[number % len(abuser.browsers)]
        async with browser.connection() as (reader, writer):
            writer.write(browser.head("GET", abuser.page("requests"), more="Accept: text/event-stream\r\n"))
            status = int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
            abuser.outcomes[status] += 1
            while status == 200 and await reader.read(1 << 16):
                pass
            return "ended"
    await abuser.repeat(400, follow, pause=0.5)


@abuse
async def sign_ins(abuser):
    """Wrong passwords for made-up users, from 254 addresses."""
    async def guess(number):
        browser = abuser.browsers[0].at(f"127.0.3.{random.randint(1, 254)}")
        email = f"user{random.randint(1, 10_000)}@example.com"
        return await browser.post_form("/console/sign-in", f"email={email}&password=wrong-{random.random()}&next=")
    await abuser.repeat(16, guess)


@abuse
async def sign_ins_of_one(abuser):
    """Wrong passwords for one user, from one address."""
    async def guess(number):
        return await abuser.browsers[0].post_form("/console/sign-in", f"email=user@example.com&password=wrong-{random.random()}&next=")
    await abuser.repeat(40, guess)


@abuse
async def idle_forms(abuser):
    """Files of prompts that begin to arrive, and do not go on."""
    browser, length = abuser.browsers[0], 32 << 20
    begin = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n' + b" " * 1_000

    async def hold(number):
        async with browser.connection() as (reader, writer):
            writer.write(browser.head("POST", abuser.page("new/check"), length, "Content-Type: multipart/form-data; boundary=B\r\n") + begin)
            abuser.outcomes["held"] += 1
            return int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
    await abuser.repeat(200, hold, pause=0.1)


@abuse
async def unread_pages(abuser):
    """Pages whose client takes nothing."""
    async def hold(number):
        browser = abuser.browsers[number % len(abuser.browsers)]
        async with browser.connection() as (reader, writer):
            writer.transport.pause_reading()
            writer.write(browser.head("GET", abuser.page("requests")) * 20)
            abuser.outcomes["held"] += 1
            await asyncio.sleep(5)
            return "released"
    await abuser.repeat(100, hold)
