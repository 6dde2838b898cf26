"""A host's word counts for what it was worth before."""

from __future__ import annotations

import random

from gossamer.schedule.trust import COUNT_MAX, UNKNOWN, after_visit, dates_are_trusted, odds_of_announcement
from gossamer.visit_history import Trust


def test_dates_are_trusted_after_three_that_were_right() -> None:
    trust = UNKNOWN
    for _ in range(3):
        assert not dates_are_trusted(trust)
        trust = after_visit(trust, changed=True, dated_later=True, said=0)
    assert dates_are_trusted(trust)


def test_a_server_that_always_says_now_is_found_out_by_pages_that_did_not_change() -> None:
    chance, trust = random.Random(1), UNKNOWN
    for _ in range(30):
        trust = after_visit(trust, changed=chance.random() < 0.5, dated_later=True, said=0)
    assert not dates_are_trusted(trust)


def test_an_answer_that_could_not_be_checked_proves_nothing() -> None:
    assert after_visit(UNKNOWN, changed=False, dated_later=None, said=0) == UNKNOWN


def test_a_sitemap_that_was_right_is_heard_and_one_that_says_it_of_every_page_is_not() -> None:
    chance, right, liar = random.Random(1), UNKNOWN, UNKNOWN
    for _ in range(100):
        changed = chance.random() < 0.3
        right = after_visit(right, changed=changed, dated_later=None, said=2 if changed else 1)
        liar = after_visit(liar, changed=changed, dated_later=None, said=2)
    assert odds_of_announcement(UNKNOWN) == 1
    assert odds_of_announcement(right) > 20
    assert 0.9 < odds_of_announcement(liar) < 1.1


def test_a_host_can_lose_what_it_had_earned() -> None:
    trust = UNKNOWN
    for _ in range(3 * COUNT_MAX):
        trust = after_visit(trust, changed=True, dated_later=True, said=0)
    assert trust.dates_right <= COUNT_MAX
    for _ in range(COUNT_MAX):
        trust = after_visit(trust, changed=False, dated_later=True, said=0)
    assert not dates_are_trusted(trust)
    assert isinstance(trust, Trust)
