"""Redirects: single ones, chains, loops, to other hosts and into forbidden places.

A redirect leads to a page that nothing else links to, so that a crawler which does not follow it misses a page.
A chain counts down: /chain/7/3 leads to /chain/7/2 and so on to /chain/7/0, which is a page. Chains of 8 are
longer than anyone should follow.
"""

from __future__ import annotations

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import leaf, plain_answer

STATUSES = (301, 302, 307, 308)
CHAIN_HOPS = (2, 8, 3, 4)


def moved_anchors(_atlas: Atlas, _host: int, page: int) -> list[Anchor]:
    return [Anchor(f"/moved/{page}")]


def moved(atlas: Atlas, visit: Visit) -> Answer | None:
    page = _carrier(atlas, visit, "redirects", 2)
    if page is None:
        return None
    turn = atlas.turn("redirects", visit.host, page)
    # Four ways to lead somewhere, with statuses that shift against them.
    match turn % 4:
        case 0:
            target = f"/landing/{page}"
        case 1:
            target = atlas.url(visit.host, f"/landing/{page}")
        case 2:
            target = atlas.url(_abroad(atlas, visit.host, page), f"/landing/{visit.host}/{page}")
        case _:
            target = f"/private/landing/{page}"
    return plain_answer("moved", STATUSES[(turn + turn // 4) % 4], ("Location", target))


def landing(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["landing", number]:
            page = _carrier(atlas, visit, "redirects", 2)
            if page is not None and atlas.turn("redirects", visit.host, page) % 4 < 2:
                return leaf(atlas, "landing", f"landing/{visit.host}/{number}")
        case ["landing", origin, number] if origin.isdecimal() and origin.isascii():
            host, page = int(origin), atlas.page_number(number)
            if (
                page is not None
                and origin == str(host)
                and host < atlas.options.hosts
                and atlas.carries("redirects", host, page)
                and atlas.turn("redirects", host, page) % 4 == 2
                and _abroad(atlas, host, page) == visit.host
            ):
                return leaf(atlas, "landing", f"landing/{host}/{page}")
    return None


def chain_anchors(atlas: Atlas, host: int, page: int) -> list[Anchor]:
    return [Anchor(f"/chain/{page}/{_chain_hops(atlas, host, page)}")]


def chain(atlas: Atlas, visit: Visit) -> Answer | None:
    page = _carrier(atlas, visit, "redirect_chains", 3)
    if page is None or visit.parts[2] not in "876543210":
        return None
    left = int(visit.parts[2])
    if left > _chain_hops(atlas, visit.host, page):
        return None
    if left == 0:
        return leaf(atlas, "chain_end", f"chain/{visit.host}/{page}")
    return plain_answer("chain", STATUSES[left % 4], ("Location", f"/chain/{page}/{left - 1}"))


def loop_anchors(_atlas: Atlas, _host: int, page: int) -> list[Anchor]:
    return [Anchor(f"/loop/{page}/a"), Anchor(f"/loop/{page}/self")]


def loop(atlas: Atlas, visit: Visit) -> Answer | None:
    page = _carrier(atlas, visit, "redirect_loops", 3)
    follower = {"a": "b", "b": "a", "self": "self"}.get(visit.parts[-1])
    if page is None or follower is None:
        return None
    return plain_answer("loop", 302, ("Location", f"/loop/{page}/{follower}"))


def _carrier(atlas: Atlas, visit: Visit, behaviour: str, parts: int) -> int | None:
    """The page that this path belongs to, if the path has so many parts and the page carries the behaviour."""
    if len(visit.parts) != parts:
        return None
    page = atlas.page_number(visit.parts[1])
    return page if page is not None and atlas.carries(behaviour, visit.host, page) else None


def _abroad(atlas: Atlas, host: int, page: int) -> int:
    return atlas.other_host(f"redirects/{host}/{page}", host)


def _chain_hops(atlas: Atlas, host: int, page: int) -> int:
    return CHAIN_HOPS[atlas.turn("redirect_chains", host, page) % 4]


CARRIED = {"redirects": moved_anchors, "redirect_chains": chain_anchors, "redirect_loops": loop_anchors}
SECTIONS = {"moved": moved, "landing": landing, "chain": chain, "loop": loop}
