"""Hosts that are nothing but a trap, and hosts that only look like one."""

from __future__ import annotations

from collections import Counter

import pytest

from gossamer.synthetic_web import Web, WebOptions, truth
from gossamer.synthetic_web.answer import Answer, Request
from gossamer.synthetic_web.habits.look_alikes import KINDS as LOOK_ALIKES
from gossamer.synthetic_web.habits.trap_hosts import KINDS

OPTIONS = WebOptions.trapped(pages_per_host=5, port=8000)
FIRST_TRAP, FIRST_LOOK_ALIKE = OPTIONS.hosts, OPTIONS.hosts + OPTIONS.trap_hosts


def ask(web: Web, url: str) -> Answer:
    place = web.locate(url)
    assert place is not None
    return web.answer(Request(*place, now=OPTIONS.born_at))


def host_of(web: Web, url: str) -> int:
    place = web.locate(url)
    assert place is not None
    return place[0]


def test_a_tenth_of_the_hosts_are_traps_of_every_kind() -> None:
    web = Web(OPTIONS)
    kinds = Counter(web.trap_kind(web.url(host)) for host in web.all_hosts())
    assert kinds.keys() - {None} == KINDS.keys()
    assert 0.095 < 1 - kinds[None] / OPTIONS.hosts_in_all < 0.105


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_trap_always_leads_on(kind: str) -> None:
    web = Web(OPTIONS)
    host = FIRST_TRAP + list(KINDS).index(kind)
    url, seen = web.url(host), set()
    for _ in range(8):
        answer = ask(web, url)
        assert (answer.status, web.trap_kind(url)) == (200, kind)
        seen.add(url)
        url = next(url for anchor in answer.anchors[1:] if (url := web.url(host, anchor.href)) not in seen)


def test_a_trap_is_linked_once_and_the_truth_stays_out_of_it() -> None:
    web = Web(OPTIONS)
    said = truth(web, [web.url(0)])
    into = Counter(target for targets in said.links.values() for target in targets if web.trap_kind(target))
    assert set(into.values()) == {1}
    assert said.rejected == into.keys()
    assert {said.is_trap(url) for url in said.rejected} == KINDS.keys() | {"calendar"}  # of a site with sections
    assert not any(map(said.is_trap, said.reachable))


def test_what_only_looks_like_a_trap_has_an_end_and_texts_of_its_own() -> None:
    web = Web(OPTIONS)
    said = truth(web, [web.url(0)])
    for place, kind in enumerate(LOOK_ALIKES):
        pages = [url for url in said.reachable if host_of(web, url) == FIRST_LOOK_ALIKE + place]
        titles = {ask(web, url).body.split(b"<title>")[1].split(b"<")[0] for url in pages}
        assert (len(pages), len(titles)) == {"catalogue": (17, 9), "sections": (145, 145)}.get(kind, (41, 41)), kind
    assert said.failing == {}


def test_their_robots_txt_is_missing() -> None:
    web = Web(OPTIONS)
    for host in (FIRST_TRAP, FIRST_LOOK_ALIKE):
        assert ask(web, web.url(host, "/robots.txt")).status == 404
        assert web.permits(web.url(host, "/any/where"))
