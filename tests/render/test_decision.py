"""Which pages are shown by a browser: the evidence of a page, and what its pattern of URLs has gained."""

from __future__ import annotations

import pytest

from gossamer.process.html import process
from gossamer.records import Page
from gossamer.render.decision import AGAIN_PAGES, SAMPLE_SHARE, Credit, decide
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


def with_a_sample() -> Credit:
    credit = Credit()
    while not credit.has_sample:
        credit.passed()
    return credit


def test_a_pattern_that_gained_is_rendered_and_one_that_did_not_is_left_alone() -> None:
    credit, shell = with_a_sample(), Evidence("shell", 2)
    assert decide("auto", SCRIPTS, Gain(rendered=1, gained=1), None, credit) == (True, "pattern")
    assert decide("auto", NONE, Gain(rendered=1, gained=1), None, credit) == (False, "none")
    assert decide("auto", shell, Gain(rendered=1), None, credit) == (True, "shell")
    assert decide("auto", shell, Gain(rendered=2), None, credit) == (False, "no_gain")
    assert decide("auto", shell, Gain(rendered=2, passed=2 * AGAIN_PAGES), None, credit) == (True, "again")


def test_the_operator_has_the_last_word() -> None:
    credit = Credit()
    assert decide("never", Evidence("shell", 2), Gain(rendered=1, gained=1), None, credit).is_rendered is False
    assert decide("always", NONE, Gain(rendered=9), None, credit).is_rendered is True


def test_a_host_that_gains_has_its_other_patterns_looked_at() -> None:
    credit = Credit()
    while credit.has_sample:
        credit.spend()
    assert not decide("auto", SCRIPTS, None, None, credit).is_rendered
    assert decide("auto", SCRIPTS, None, Gain(rendered=2, gained=2), credit).is_rendered


def test_the_sample_of_pages_that_gain_nothing_stays_small() -> None:
    credit, rendered, pages = Credit(), 0, 10_000
    for _ in range(pages):  # each of a pattern of its own, so that nothing is ever learned
        if decide("auto", SCRIPTS, None, None, credit).is_rendered:
            credit.spend()
            rendered += 1
        else:
            credit.passed()
    assert 0 < rendered <= pages * SAMPLE_SHARE + 2
