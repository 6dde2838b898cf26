"""All hostile behaviours at once, beside twenty friendly hosts, which notice nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.behaviours.codings import MIB
from tests.hostile.crowd import DELAY_S, FRIENDLY_HOSTS, FRIENDLY_PAGES, Crawled, crawl_crowd
from tests.shared_crawl import once

LATE_S_MAX = 0.5
MEMORY_BYTES_MAX = 700 * MIB

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="what processes use is read from /proc")


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    return once(tmp_path_factory, worker_id, "crowd", crawl_crowd)


def test_no_worker_dies_and_the_crawl_ends(crawled: Crawled) -> None:
    assert crawled.code == 0
    assert "died" not in crawled.said and "Complete" in crawled.summary
    assert all(crawled.hostile.values()), crawled.hostile


def test_every_friendly_host_gets_its_pages(crawled: Crawled) -> None:
    for number in range(FRIENDLY_HOSTS):
        paths = [each.path for each in crawled.asked if each.host == f"friendly{number}"]
        assert len(paths) == len(set(paths)) == FRIENDLY_PAGES
    fetched = [page for page in crawled.pages if "//friendly" in page["url"] and page["status"] == 200]
    assert len(fetched) == FRIENDLY_HOSTS * FRIENDLY_PAGES


def test_no_friendly_host_waits_for_a_hostile_one(crawled: Crawled) -> None:
    """The worker's event loop has worked no longer between two of its requests than its delay and half a second, by
    the pace that the machine has at its best."""
    longest_s = {f"friendly{number}": max(crawled.pauses_s(f"friendly{number}")) for number in range(FRIENDLY_HOSTS)}
    assert max(longest_s.values()) <= (DELAY_S + LATE_S_MAX) * crawled.slowness, (longest_s, crawled.slowness)


def test_memory_stays_below_a_bound(crawled: Crawled) -> None:
    assert crawled.memory_bytes < MEMORY_BYTES_MAX, f"{crawled.memory_bytes / MIB:.0f} MiB"
