"""The links of a page: added one by one or all at once, they are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.links import Links

PAGE = "http://host.example/folder/page.html"
PIECES = "a b-c D.html / // . .. ? & = x=1 b=2 utm_source=3 #f http: //host.example/ //other.example/ é %41"
HREFS = st.lists(st.sampled_from(PIECES.split()), max_size=5).map("".join)
ANCHORS = st.sampled_from(["", "more", "7", "what is told of it elsewhere", "sixteen or more »"])
RELS = st.sampled_from(["", "", "nofollow", "next"])
POSITIONS = st.sampled_from(["main", "navigation", "footer", ""])
BASES = st.sampled_from([None, "/", "http://other.example/x/", "ftp://host.example/", "data:x"])


@given(st.lists(st.tuples(HREFS, ANCHORS, RELS, POSITIONS), max_size=12), BASES, st.integers(1, 12))
def test_added_all_at_once_they_are_what_they_are_one_by_one(
    found: list[tuple[str, str, str, str]], base: str | None, most: int
) -> None:
    at_once, each = (Links(PAGE, base, "utf-8", have_places=True) for _ in range(2))
    at_once.add_all(found, most)
    for href, anchor, rel, position in found:
        each.add(href, anchor, rel, None, position)
        if len(each) >= most:
            break
    assert list(at_once) == list(each)
