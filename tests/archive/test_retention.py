"""What is kept: the catalogue against a naive reading of its four rules."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.archive.catalogue import Catalogue, Row


@dataclass(frozen=True)
class Visit:
    page: int
    at: int
    is_version: bool
    refers_to: tuple[int, int | None] | None = None  # page and time; no time: its last version before this
    is_pinned: bool = False


@st.composite
def histories(draw: st.DrawFn) -> list[Visit]:
    """Visits to a few pages in the order of time: versions, copies of other pages' versions, and "not modified"."""
    visits: list[Visit] = []
    for at in range(draw(st.integers(0, 14))):
        page = draw(st.integers(0, 3))
        others = [visit for visit in visits if visit.is_version and visit.page != page]
        own = [visit for visit in visits if visit.page == page]
        kind = draw(st.sampled_from(["original", "copy", "unchanged"]))
        pinned = draw(st.integers(0, 9)) == 0
        if kind == "copy" and others:
            of = draw(st.sampled_from(others))
            visits.append(Visit(page, at, True, (of.page, of.at), pinned))
        elif kind == "unchanged" and own:
            visits.append(Visit(page, at, False, (page, draw(st.sampled_from([None, own[0].at]))), pinned))
        else:
            visits.append(Visit(page, at, True, None, pinned))
    return visits


def naively_kept(visits: list[Visit], versions: int | None, since: int | None) -> set[Visit]:
    kept: set[Visit] = set()
    for page in {visit.page for visit in visits}:
        own = [visit for visit in visits if visit.page == page]
        of_version: list[list[Visit]] = [[]]  # each version with the visits that found it unchanged
        for visit in own:
            if visit.is_version:
                of_version.append([])
            of_version[-1].append(visit)
        wanted = of_version if versions is None else of_version[-versions:]
        kept |= {visit for group in wanted for visit in group if since is None or visit.at >= since}
        if of_version[-1] and of_version[-1][0].is_version:
            kept.add(of_version[-1][0])  # the latest, however old
    kept |= {visit for visit in visits if visit.is_pinned}
    while True:
        referred = set()
        for visit in kept:
            if visit.refers_to is not None:
                page, at = visit.refers_to
                before = [v for v in visits if v.page == page and v.is_version and v.at < visit.at]
                referred |= set(before[-1:]) if at is None else {v for v in visits if (v.page, v.at) == (page, at)}
        if referred <= kept:
            return kept
        kept |= referred


LIMITS = st.none() | st.integers(1, 3)
TIMES = st.none() | st.integers(0, 15)


@settings(deadline=None, max_examples=100)
@given(histories(), LIMITS, TIMES)
def test_the_catalogue_keeps_what_its_rules_say(visits: list[Visit], versions: int | None, since: int | None) -> None:
    rows = [row(number, visit) for number, visit in enumerate(visits)]
    with tempfile.TemporaryDirectory() as folder, Catalogue(Path(folder, "catalogue")) as catalogue:
        catalogue.add(rows)
        catalogue.decide(versions, since)
        kept = {visits[each.start] for each in catalogue.kept("file")}
        for visit in visits:
            assert catalogue.is_dropped(bytes([visit.page]), visit.at) == (visit not in kept)
    assert kept == naively_kept(visits, versions, since)


def row(number: int, visit: Visit) -> Row:
    page, at = visit.refers_to or (None, None)
    refers_to = None if page is None else bytes([page])
    own = bytes([visit.page])
    return Row(own, visit.at, visit.is_version, refers_to, at, "file", number, number + 1, number, 1, visit.is_pinned)
