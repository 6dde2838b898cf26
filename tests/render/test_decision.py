"""Which pages are shown by a browser: the evidence of a page, and what its pattern of URLs has gained."""

from __future__ import annotations

import pytest

from gossamer.process.html import process
from gossamer.records import Page
from gossamer.render.decision import AGAIN_PAGES, decide
from gossamer.render.evidence import NONE, SCRIPTS, Evidence, evidence_of, gain_of
from gossamer.rendered import Gain

URL = "http://a.test/page"
WORDS = "Some words that a person would read on a page of this kind. " * 10
SCRIPT = "<script src=/app.js></script>"
LINK = "<a href=/other>other</a>"


def word_of(markup: str) -> str:
    body = f"<html><body>{markup}</body></html>".encode()
    return evidence_of(body, process(body, URL)).word


@pytest.mark.parametrize(
    ("markup", "word"),
    [
        (WORDS + LINK, "none"),
        ("", "none"),
        ('<script type="application/ld+json">{"a": 1}</script>', "none"),
        (f"<div id=root></div>{SCRIPT}", "shell"),
        (f"{WORDS}{LINK}<div id='app'></div>{SCRIPT}", "mount"),
        (f"{WORDS}{LINK}<noscript>Please enable JavaScript</noscript>{SCRIPT}", "noscript"),
        (f"{WORDS}{SCRIPT}", "few_links"),
        (f"{WORDS}<a href=http://b.test/>elsewhere</a>{SCRIPT}", "few_links"),
        (f"{WORDS}{LINK}{SCRIPT}", "scripts"),
        (f"{WORDS * 5}{LINK}<noscript>Please enable JavaScript</noscript>{SCRIPT}", "scripts"),
    ],
)
def test_a_page_says_itself_how_likely_it_gains(markup: str, word: str) -> None:
    assert word_of(markup) == word


def test_links_and_much_more_text_are_a_gain() -> None:
    plain = process(f"<p>{WORDS}</p>{LINK}".encode(), URL)
    assert gain_of(plain, plain) == (0, 0)
    assert gain_of(plain, process(f"<p>{WORDS}, at 10:31</p>{LINK}".encode(), URL)) == (0, 0)
    assert gain_of(plain, process(f"<p>{WORDS}</p>{LINK}<a href=/new>n</a>".encode(), URL)) == (0, 1)
    text, links = gain_of(plain, process(f"<p>{WORDS * 2}</p>".encode(), URL))
    assert text > 500 and links == 0
    assert gain_of(plain, Page(URL)) == (0, 0)


def test_links_to_other_sites_are_no_gain_of_an_ordinary_page() -> None:
    plain = process(f"<p>{WORDS}</p>{LINK}".encode(), URL)
    shared = process(f"<p>{WORDS}</p>{LINK}<a href=http://share.test/?a>share</a>".encode(), URL)
    below = process(f"<p>{WORDS}</p>{LINK}<a href=http://b.a.test/new>n</a>".encode(), URL)
    assert gain_of(plain, shared) == (0, 1) and gain_of(plain, shared, of_site=True) == (0, 0)
    assert gain_of(plain, below, of_site=True) == (0, 1)


def test_a_pattern_that_gained_is_rendered_and_one_that_did_not_is_left_alone() -> None:
    shell = Evidence("shell", 2)
    assert decide("auto", SCRIPTS, Gain(rendered=1, gained=1), None, has_look=False) == (True, "pattern")
    assert decide("auto", NONE, Gain(rendered=1, gained=1), None, has_look=True) == (False, "none")
    assert decide("auto", shell, Gain(rendered=1), None, has_look=False) == (True, "shell")
    assert decide("auto", shell, Gain(rendered=2), None, has_look=True) == (False, "no_gain")
    again = Gain(rendered=2, passed=2 * AGAIN_PAGES)
    assert decide("auto", shell, again, None, has_look=True) == (True, "again")
    assert decide("auto", shell, again, None, has_look=False) == (False, "again")


def test_the_operator_has_the_last_word() -> None:
    gained = Gain(rendered=1, gained=1)
    assert decide("never", Evidence("shell", 2), gained, None, has_look=True).is_rendered is False
    assert decide("always", NONE, Gain(rendered=9), None, has_look=False).is_rendered is True


def test_a_host_that_gains_has_its_other_patterns_looked_at() -> None:
    assert not decide("auto", SCRIPTS, None, None, has_look=False).is_rendered
    assert decide("auto", SCRIPTS, None, Gain(rendered=2, gained=2), has_look=False).is_rendered
