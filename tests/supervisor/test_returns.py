"""One sentence for all partitions: what was raised, what comes back, and what does not."""

from __future__ import annotations

from pathlib import Path

from gossamer.messages.worker_messages import Returned
from gossamer.supervisor.returns import TOLD_FROM, Returns

FOLDER = Path("D")
DEPTH, SCOPE = "max_depth 1 -> 5", "scope host -> site"


def test_it_is_said_when_the_last_partition_has_looked_and_only_once() -> None:
    returns = Returns(FOLDER)
    assert returns.take([Returned(0, "crawl.max_depth", DEPTH, 4)], [], [0, 1], {}) == []
    last = [Returned(1, "crawl.max_depth", DEPTH, 1200)]
    assert returns.take(last, [], [0, 1], {}) == [f"{DEPTH}: 1,204 URLs that were refused come back"]
    assert returns.take([], [], [0, 1], {}) == []


def test_a_long_look_is_announced_once() -> None:
    returns = Returns(FOLDER)
    looking = [(DEPTH, TOLD_FROM // 2), (DEPTH, TOLD_FROM // 2)]
    assert returns.take([], looking, [0], {}) == [
        f"{DEPTH}: 10,000 refused URLs are looked at again, beside the crawl"
    ]
    assert returns.take([], looking, [0], {}) == []
    assert Returns(FOLDER).take([], [(DEPTH, 7)], [0], {}) == []


def test_who_waits_for_links_that_were_not_kept_is_told_how_to_get_them() -> None:
    [said] = Returns(FOLDER).take([Returned(0, "crawl.scope", SCOPE, 0)], [], [0], {"scope": 3, "nofollow": 9})
    assert said.startswith(f"{SCOPE}: 3 links that were rejected for it so far were not kept; ")
    assert "retry D --links" in said


def test_nothing_and_one() -> None:
    for urls, words in [(0, "no URL that was refused comes back"), (1, "1 URL that was refused comes back")]:
        [said] = Returns(FOLDER).take([Returned(0, "policy", "host a.test unblocked", urls)], [], [0], {})
        assert said == f"host a.test unblocked: {words}"
