"""Nothing costs more than in proportion to its size; `python -m tests.fuzz.growth --minutes 5` is the long run."""

from __future__ import annotations

from functools import cache

import pytest

from tests.fuzz.growth import Grown, excess, grown, targets

INPUTS = 40  # of each kind, by chance

all_targets = cache(targets)


@pytest.mark.parametrize(
    "input_",
    [
        Grown("<p ", " a#", ">"),  # each attribute is compared with all before it
        Grown("<p ", "a#='<'", ">"),
        Grown("<p ", "a#='>'", ">"),
        Grown("<p ", " a# b# c# d# e# f# g#" * 20 + " h#='>'", ">"),
        Grown("", "<div x='</div>'>", ""),  # ends of nothing
        Grown("", "<dt </>", ""),
        Grown("", "<dt><li>", ""),  # each closed by the next of its kind, and not in the other
        Grown("", "<div><table></div></table>", ""),  # the end of a cell's world
        Grown("", "<form><div></form>", ""),
        Grown("", "<select><div><option></div></select>", ""),
        Grown("", "<svg><div></svg>", ""),  # the end of a drawing that has ended
        Grown("<svg><script>", "<dt><li>", ""),  # in a drawing, what is in a script is markup
        Grown("<svg><![CDATA[><p a=']]>", "<dt><li>", "'>"),
        Grown("", "<script><!--<script></script><p a='--></script><dt><li>'>", ""),
        Grown("", "<template><div>", ""),
        Grown("<!--<x y='--><p ", "/a#", ">"),
        Grown("<title>'</title><p ", " a#=b'c", ">"),
        Grown("<table>", "<rt>", ""),  # nested, outside of a <ruby>
        Grown("", "</article><div></td>", ""),  # end tags of what is not open hide what stays open
        Grown("", "</i><b x#='y'></br>", ""),
        Grown("<svg>", "<col><a href=#></hr>", ""),  # in a drawing nothing is void
        Grown("<svg>", "</a><input>", ""),
        Grown("<img alt='" + "word " * 10_000 + "' srcset='", "x# 1x, ", "'>"),
        Grown("<img srcset='" + "x 1x, " * 10_000 + "' alt='", "word ", "'>"),
    ],
    ids=lambda input_: f"{input_.head[:20]} {input_.unit}",
)
def test_what_grew_too_fast_once_stays_mended(input_: Grown) -> None:
    assert excess(all_targets()["html"], input_) is None


@pytest.mark.parametrize("name", list(targets()))
def test_an_input_eight_times_as_long_costs_about_eight_times_as_much(name: str) -> None:
    target = all_targets()[name]
    for seed in range(INPUTS):
        assert excess(target, grown(target, seed)) is None, f"{name}, seed {seed}: {grown(target, seed)}"
