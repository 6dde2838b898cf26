"""The filter forgets nothing that it was told, however it was told, and makes as few mistakes as it promises."""

from __future__ import annotations

from random import Random

import pytest

from gossamer.frontier.disk.bloom import Bloom
from gossamer.frontier.disk.tables import URL_KEY_BYTES


def keys(count: int, seed: int) -> list[bytes]:
    chance = Random(seed)
    return [chance.randbytes(URL_KEY_BYTES) for _ in range(count)]


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_what_it_was_told_it_knows(at_once: int) -> None:
    """Also of a batch in which many bits fall into one byte of the table."""
    bloom, told = Bloom(1000, 0.01), keys(1000, seed=1)
    for start in range(0, len(told), at_once):
        bloom.add(told[start : start + at_once])
    assert bloom.has(told).all()
    bloom.add(told)
    assert bloom.has(told).all()
    assert not bloom.has([]).size


@pytest.mark.parametrize("mistakes", [0.2, 0.01, 0.001])
def test_its_mistakes_are_as_rare_as_promised(mistakes: float) -> None:
    bloom = Bloom(20_000, mistakes)
    bloom.add(keys(20_000, seed=2))
    wrong = bloom.has(keys(200_000, seed=3)).mean()
    assert wrong == pytest.approx(mistakes, rel=0.2)


def test_keys_of_one_host_are_told_apart() -> None:
    host = bytes(8)
    bloom = Bloom(1000, 0.01)
    bloom.add([host + key[8:] for key in keys(1000, seed=4)])
    assert bloom.has([host + key[8:] for key in keys(10_000, seed=5)]).mean() < 0.02


def test_it_is_the_same_after_a_dump() -> None:
    bloom, told, others = Bloom(1000, 0.05), keys(500, seed=6), keys(5000, seed=7)
    bloom.add(told)
    again = Bloom(1000, 0.05)
    assert again.load(memoryview(bloom.dump()))
    assert again.has(others).tolist() == bloom.has(others).tolist()
    again.add(others)
    assert again.has(told + others).all()
    assert not Bloom(1001 * 2, 0.05).load(bloom.dump())
