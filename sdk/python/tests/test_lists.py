"""Lists that go on where a page ends, against a server that answers as it is told."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from scripted import ScriptedServer, answer

from overnight import Overnight


def test_the_place_of_a_page_is_percent_encoded_whatever_it_holds(scripted: ScriptedServer) -> None:
    place = "2026-11-27,,,a&b=c d+e#f%,ü"
    for after in [place, None]:
        scripted.answer(answer(200, {"object": "list", "data": [], "next": after}))
    assert list(Overnight(base_url=scripted.url, api_key="key").list_usage()) == []
    query = urlsplit(scripted.calls[1].line.split(" ")[1]).query
    assert parse_qs(query)["after"] == [place]
