"""The index of SimHashes against a scan over all of them; settling twice against settling once."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.fingerprints.near import NearIndex
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import ORIGINAL, Claim, Verdict
from tests.property.memory_store import MemoryStore

SAID = sketch_of(words_in("one and the same text for all of them"))


def claim(number: int, simhash: int) -> Claim:
    return Claim(f"{number:064x}", f"http://h.test/{number}", 1000.0 + number, simhash, SAID)


@pytest.mark.parametrize("near_bits", [1, 2, 3, 4])
def test_the_index_finds_what_a_scan_finds_at_every_distance(folder: Path, near_bits: int) -> None:
    chance = random.Random(near_bits)
    store = MemoryStore()
    index = NearIndex(store, folder, near_bits)
    stored = [claim(number, chance.getrandbits(64)) for number in range(300)]
    batch = store.batch()
    index.add(stored, batch)
    store.write(batch, sync=False)
    for _ in range(600):
        base = chance.choice(stored).simhash
        assert base is not None
        asked = base
        for bit in chance.sample(range(64), chance.randint(0, near_bits + 2)):
            asked ^= 1 << bit
        near = {each.url for each in stored if (asked ^ (each.simhash or 0)).bit_count() <= near_bits}
        found = index.nearest([claim(-1, asked)])[0]
        assert (found.url in near) if found else not near
    index.close()


# Few bits, so that nearly all of them are near each other or just not.
prints = st.integers(0, 255).map(lambda low: low | 0xABCD << 48)
visits = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), prints, st.integers(1, 3)), max_size=30)


@given(visits)
@settings(max_examples=60, deadline=None)
def test_settling_again_and_judging_again_change_nothing(told: list[tuple[int, int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "once").mkdir()
        (Path(folder) / "often").mkdir()
        once, often = MemoryStore(), MemoryStore()
        first, second = Duplicates(once, Path(folder) / "once"), Duplicates(often, Path(folder) / "often")
        for url, content, simhash, times in told:
            visit = Claim(f"{content << 64 | simhash:064x}", f"http://h.test/{url}", 1000.0, simhash, SAID)
            (verdict,) = first.judge([visit])
            assert [second.judge([visit]) for _ in range(times)] == [[verdict]] * times
            if verdict == ORIGINAL:
                first.settle([visit])
                for _ in range(times):
                    second.settle([visit] * times)
                assert second.judge([visit]) == [ORIGINAL]
                second.release(0)
            else:
                assert isinstance(verdict, Verdict) and verdict.of != visit.url
        assert once.tables == often.tables
        first.close()
        second.close()
