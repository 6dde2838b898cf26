"""Shared state in Valkey against that of one machine: the same pages in the same order, and the same verdicts.

Pages as a crawl brings them: articles with exact and near copies, products of one template, tables with other
figures, short notices with a clock in them; finished in batches, settled some batches later, and asked about again
where they had to wait. The differences that claims.py tells of are kept out: nobody shows a settled content of its
own again while others ask for it, and no bucket has more candidates than are compared.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.clock import RealClock, VirtualClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.frontier.disk.store import RocksStore
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.process.simhash import simhash
from gossamer.records import Claim
from tests.servers import valkey

PAGES = 1500


def text_of(chance: random.Random, words: int) -> list[str]:
    return [f"{chance.choice('bdfklmnprst')}{chance.choice('aeiou')}{chance.randrange(400):x}" for _ in range(words)]


def pages(chance: random.Random) -> Iterator[str]:
    """Texts without an end: new ones, and what became of earlier ones."""
    articles = [text_of(chance, 300)]
    template = text_of(chance, 150)
    notice = text_of(chance, 30)
    while True:
        kind = chance.random()
        if kind < 0.4:
            articles.append(text_of(chance, chance.randrange(50, 500)))
            yield " ".join(articles[-1])
        elif kind < 0.55:
            yield " ".join(chance.choice(articles))
        elif kind < 0.75:  # one word in a hundred is another one
            changed = list(chance.choice(articles))
            for _ in range(max(1, len(changed) // 100)):
                changed[chance.randrange(len(changed))] = "other"
            yield " ".join(changed)
        elif kind < 0.85:
            yield " ".join(template + text_of(chance, 40))
        elif kind < 0.95:
            yield " ".join(
                word for row in range(40) for word in ("on", "day", str(row), str(chance.randrange(10**6)))
            )
        else:
            yield " ".join([*notice, f"{chance.randrange(24)}:{chance.randrange(60):02}"])


@pytest.mark.parametrize("seed", range(3))
async def test_verdicts_are_those_of_one_machine(seed: int, folder: Path, clock: VirtualClock) -> None:
    chance = random.Random(seed)
    store = RocksStore(folder / "fingerprints", duplicates.TABLES)
    judge = Duplicates(store, store.folder)
    alone = LocalShared(judge, Pace(clock, per_s=1, burst=1))
    server = valkey.server()
    name = server.new_name()
    nodes = [ValkeyShared(server.url, name, RealClock(), per_s=1, burst=1, limit_s=20) for _ in range(2)]
    texts = pages(chance)
    waiting: deque[Claim] = deque()
    unsettled: deque[list[Claim]] = deque()
    kinds: Counter[str] = Counter()
    number = 0
    while number < PAGES or waiting or unsettled:
        batch = [waiting.popleft() for _ in range(len(waiting))]
        for _ in range(chance.randrange(1, 40) if number < PAGES else 0):
            text, number = next(texts), number + 1
            digest = hashlib.sha256(text.encode()).hexdigest()
            url = f"http://host{chance.randrange(50)}.test/{number}"
            batch.append(Claim(digest, url, float(number), simhash(text), sketch_of(words_in(text))))
        node = chance.choice(nodes)
        wanted, verdicts = await alone.judge(batch), await node.judge(batch)
        assert verdicts == wanted, [
            (claim.url, *each) for claim, *each in zip(batch, wanted, verdicts, strict=True) if each[0] != each[1]
        ]
        kinds.update(verdict.kind if verdict else "waits" for verdict in verdicts)
        waiting += [claim for claim, verdict in zip(batch, verdicts, strict=True) if verdict is None]
        unsettled.append(
            [claim for claim, verdict in zip(batch, verdicts, strict=True) if verdict and verdict.is_original]
        )
        while unsettled and (len(unsettled) > 3 or number >= PAGES):
            settled = unsettled.popleft()
            await alone.settle(settled)
            await chance.choice(nodes).settle(settled)
    assert not any(node.away for node in nodes)
    assert min(kinds[kind] for kind in ("original", "same", "near", "waits")) > 50, kinds
    for node in nodes:
        await node.close()
    judge.close()
    store.close()
