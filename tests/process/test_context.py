"""A link is worth what its place, its words, its rel and its target make it worth (docs/urls.md)."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from gossamer.process.markup.context import POSITIONS, RELATIONS, context

ANCHORS = ["", "7", "next", "how spiders fly"]


def test_the_best_link_is_worth_one_and_the_least_is_worth_little() -> None:
    assert context("main", "how spiders fly", "", leaves_site=True) == pytest.approx(1.0)
    assert context("footer", "", "nofollow", leaves_site=False) == pytest.approx(0.4 * 0.1 + 0.3 * 0.2 + 0.1 * 0.5)


def test_a_link_in_the_text_is_worth_more_than_one_in_the_navigation_or_in_the_footer() -> None:
    worths = [context(place, "spiders", "", leaves_site=False) for place in ("main", "", "navigation", "footer")]
    assert all(more > less for more, less in pairwise(worths))


@pytest.mark.parametrize(
    "anchor", ["click here", "Read More »", "mehr …", "Weiter", "Next page (2)", "[here]", "下一页"]
)
def test_generic_words_say_little(anchor: str) -> None:
    assert context("main", anchor, "", leaves_site=False) == context("main", "next", "", leaves_site=False)


@pytest.mark.parametrize("anchor", ["7", "[12]", "1.2.3", "»", "2026-11-16", "« 3 »"])
def test_a_number_or_a_sign_says_less(anchor: str) -> None:
    worth = context("main", anchor, "", leaves_site=False)
    assert worth == context("main", "1", "", leaves_site=False)
    assert context("main", "", "", leaves_site=False) < worth < context("main", "next", "", leaves_site=False)


@pytest.mark.parametrize("anchor", ["Python 3", "next generation spiders", "更多蜘蛛", "A", "how " * 50])
def test_words_of_a_subject_say_something(anchor: str) -> None:
    assert context("main", anchor, "", leaves_site=True) == pytest.approx(1.0)


def test_of_several_relations_the_least_counts_and_unknown_ones_say_nothing() -> None:
    def worth(rel: str) -> float:
        return context("main", "spiders", rel, leaves_site=True)

    assert worth("noopener external") == worth("") == worth("next") == worth("canonical")
    assert worth("next sponsored") == worth("sponsored ugc") == worth("sponsored") < worth("ugc") < worth("tag")


def test_a_link_to_another_site_is_a_recommendation() -> None:
    assert context("main", "a", "", leaves_site=True) > context("main", "a", "", leaves_site=False)


def test_a_worth_is_between_zero_and_one() -> None:
    for position, anchor, rel, leaves_site in product(POSITIONS, ANCHORS, ["", *RELATIONS], (True, False)):
        assert 0 <= context(position, anchor, rel, leaves_site=leaves_site) <= 1
