"""URLFrontier's contract, by a client over the network, against the command with its default settings.

Each test has a crawl of its own in one server, as clients have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import grpc
import grpc.aio
import pytest

from gossamer.urlfrontier import urlfrontier_pb2 as messages
from gossamer.urlfrontier.service import ITEMS_MAX
from tests.urlfrontier.serving import OK, SKIPPED, Served, discovered, known, served

LONG_AGO, FAR = 1_000_000_000, 4_000_000_000
_crawls = count()


@pytest.fixture
async def frontier(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "F") as running:
        yield running


async def test_of_two_equal_discovered_urls_both_are_acknowledged_and_one_is_kept(frontier: Served) -> None:
    assert await frontier.queues() == []
    assert list((await frontier.call.ListCrawls(messages.Local())).values) == []
    assert await frontier.put(discovered("http://a.test/"), discovered("http://a.test/")) == [OK, SKIPPED]
    assert await frontier.put(discovered("http://a.test/")) == [SKIPPED]
    assert await frontier.queues() == ["a.test"]
    assert (await frontier.stats()).size == 1
    assert list((await frontier.call.ListCrawls(messages.Local())).values) == ["DEFAULT"]


async def test_an_acknowledgement_has_the_id_or_else_the_url(frontier: Served) -> None:
    one, other = discovered("http://a.test/1"), known("http://a.test/2")
    other.ID = "second"
    acks = [ack.ID async for ack in frontier.call.PutURLs(iter([one, other]))]
    assert acks == ["http://a.test/1", "second"]


async def test_a_lease_keeps_a_url_from_others_until_it_ends(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/"))
    assert await frontier.get(max_urls_per_queue=1, key="a.test", crawlID="DEFAULT", delay_requestable=2) != []
    assert (await frontier.stats(key="a.test")).inProcess == 1
    assert (await frontier.stats()).inProcess == 1
    assert await frontier.get(delay_requestable=2) == []
    await asyncio.sleep(2.1)
    assert (await frontier.stats()).inProcess == 0
    assert await frontier.get(delay_requestable=2) == ["http://a.test/"]


async def test_a_known_url_ends_its_lease_and_comes_at_its_date_or_never(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/1"), discovered("http://b.test/2"))
    assert sorted(await frontier.get()) == ["http://a.test/1", "http://b.test/2"]
    soon = int(time.time()) + 2
    assert await frontier.put(known("http://a.test/1", soon), known("http://b.test/2")) == [OK, OK]
    stats = await frontier.stats()
    assert (stats.size, stats.inProcess, stats.counts["completed"], stats.counts["active_queues"]) == (1, 0, 1, 1)
    assert stats.numberOfQueues == 2
    assert await frontier.get() == []
    await asyncio.sleep(max(0.0, soon + 0.1 - time.time()))
    assert await frontier.get() == ["http://a.test/1"]
    assert await frontier.put(discovered("http://b.test/2")) == [SKIPPED]  # what is done is known


async def test_a_known_url_without_a_date_is_never_served(frontier: Served) -> None:
    assert await frontier.put(known("http://a.test/")) == [OK]
    assert await frontier.get() == []
    assert (await frontier.stats()).size == 0
    assert await frontier.queues() == []
    assert await frontier.queues(include_inactive=True) == ["a.test"]


async def test_urls_of_a_queue_come_in_the_order_of_their_dates(frontier: Served) -> None:
    dates = {"http://a.test/late": 300, "http://a.test/early": 100, "http://a.test/middle": 200}
    await frontier.put(*(known(url, date) for url, date in dates.items()))
    await frontier.put(known("http://a.test/not-yet", FAR), discovered("http://a.test/now"))
    ordered = ["http://a.test/early", "http://a.test/middle", "http://a.test/late", "http://a.test/now"]
    assert await frontier.get() == ordered
    await frontier.put(known("http://a.test/early", LONG_AGO), known("http://a.test/now", 5))
    await asyncio.sleep(1.1)
    assert await frontier.get() == ["http://a.test/now", "http://a.test/early"]


async def test_a_queue_is_asked_again_after_its_delay_and_gives_as_many_as_are_wanted(frontier: Served) -> None:
    await frontier.put(*(discovered(f"http://a.test/{n}") for n in range(5)))
    assert len(await frontier.get(max_urls_per_queue=2)) == 2
    assert await frontier.get(max_urls_per_queue=4) == []  # a second has to pass by default
    await frontier.call.SetDelay(messages.QueueDelayParams(key="a.test", delay_requestable=0))
    assert await frontier.get(max_urls_per_queue=2) == []  # two are in process
    assert len(await frontier.get(max_urls_per_queue=3)) == 1
    assert len(await frontier.get()) == 2
    assert await frontier.get() == []


async def test_a_hand_out_that_sends_nothing_does_not_count_as_one(frontier: Served) -> None:
    await frontier.put(known("http://a.test/", FAR))
    assert await frontier.get() == []
    await frontier.put(discovered("http://a.test/new"))
    assert await frontier.get() == ["http://a.test/new"]


async def test_queues_are_served_in_turn(frontier: Served) -> None:
    await frontier.call.SetDelay(messages.QueueDelayParams(delay_requestable=0))
    await frontier.put(*(discovered(f"http://h{host}.test/{n}") for host in range(4) for n in range(3)))
    got = [await frontier.get(max_queues=2, max_urls_per_queue=10) for _ in range(2)]
    assert [len(urls) for urls in got] == [6, 6]
    assert len({url for urls in got for url in urls}) == 12


async def test_each_queue_gets_its_turn_before_any_gets_a_second_one(frontier: Served) -> None:
    await frontier.call.SetDelay(messages.QueueDelayParams(delay_requestable=0))
    await frontier.put(*(discovered(f"http://h{host}.test/{n}") for host in range(3) for n in range(2)))
    rounds = [await frontier.get(max_queues=1, max_urls_per_queue=n // 3 + 1) for n in range(6)]
    hosts = [url.split("/")[2] for urls in rounds for url in urls]
    assert sorted(hosts[:3]) == sorted(hosts[3:]) == ["h0.test", "h1.test", "h2.test"]


async def test_a_blocked_queue_waits_until_then_or_until_it_is_unblocked(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/"), discovered("http://b.test/"))
    await frontier.call.BlockQueueUntil(messages.BlockQueueParams(key="a.test", time=FAR))
    assert await frontier.get() == ["http://b.test/"]
    assert await frontier.queues() == ["b.test"]
    await frontier.call.BlockQueueUntil(messages.BlockQueueParams(key="a.test", time=0))
    assert await frontier.get() == ["http://a.test/"]


async def test_a_queue_at_its_limit_hands_out_no_more(frontier: Served) -> None:
    await frontier.call.SetDelay(messages.QueueDelayParams(delay_requestable=0))
    await frontier.put(*(discovered(f"http://a.test/{n}") for n in range(4)))
    await frontier.call.SetCrawlLimit(messages.CrawlLimitParams(key="a.test", limit=2))
    got = await frontier.get()
    assert len(got) == 2
    await frontier.put(known(got[0]), known(got[1], LONG_AGO))
    assert len(await frontier.get()) == 1
    await frontier.call.SetCrawlLimit(messages.CrawlLimitParams(key="a.test", limit=0))
    assert len(await frontier.get()) == 2


async def test_an_inactive_frontier_takes_urls_and_gives_none(frontier: Served) -> None:
    await frontier.call.SetActive(messages.Active(state=False))
    assert not (await frontier.call.GetActive(messages.Local())).state
    assert await frontier.put(discovered("http://a.test/")) == [OK]
    assert await frontier.get() == []
    await frontier.call.SetActive(messages.Active(state=True))
    assert await frontier.get() == ["http://a.test/"]


async def test_crawls_know_nothing_of_each_other_and_no_crawl_is_the_default_one(frontier: Served) -> None:
    url = "http://a.test/"
    assert await frontier.put(discovered(url, crawl="one"), discovered(url, crawl="two"), discovered(url)) == [OK] * 3
    assert await frontier.put(discovered(url, crawl="DEFAULT")) == [SKIPPED]
    assert sorted((await frontier.call.ListCrawls(messages.Local())).values) == ["DEFAULT", "one", "two"]
    assert await frontier.get("one") == [url]
    assert await frontier.get("one") == []
    assert await frontier.get("") == [url]  # an empty name is DEFAULT's
    assert (await frontier.call.DeleteCrawl(messages.DeleteCrawlMessage(value="one"))).value == 1
    assert sorted((await frontier.call.ListCrawls(messages.Local())).values) == ["DEFAULT", "two"]
    assert await frontier.get(anyCrawlID=messages.AnyCrawlID()) == [url]
    assert await frontier.put(discovered(url, crawl="one")) == [OK]
    assert await frontier.get("one") == [url]


async def test_without_a_crawl_a_key_finds_nothing(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/"))
    assert await frontier.get(key="a.test") == []
    assert await frontier.get("DEFAULT", key="a.test") == ["http://a.test/"]


async def test_a_deleted_queue_is_gone_with_its_urls_at_once(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/1"), discovered("http://a.test/2"), known("http://a.test/3"))
    await frontier.put(discovered("http://b.test/"))
    await frontier.get("DEFAULT", key="a.test", max_urls_per_queue=1)
    asked = messages.QueueWithinCrawlParams(key="a.test")
    assert (await frontier.call.DeleteQueue(asked)).value == 3
    assert (await frontier.call.DeleteQueue(asked)).value == 0
    assert await frontier.queues() == ["b.test"]
    stats = await frontier.stats()
    assert (stats.size, stats.inProcess, stats.numberOfQueues) == (1, 0, 1)
    again = [discovered(f"http://a.test/{n}") for n in (1, 2, 3)]
    assert await frontier.put(*again) == [OK] * 3
    assert len(await frontier.get("DEFAULT", key="a.test")) == 3


@pytest.mark.parametrize(
    ("url", "queue"),
    [
        ("http://gac.icann.org?language_id=9", "gac.icann.org"),
        ("https://user:secret@Example.ORG:8443/a?b#c", "example.org"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]"),
        ("ftp://files.test", "files.test"),
    ],
)
async def test_without_a_key_the_queue_is_the_host(frontier: Served, url: str, queue: str) -> None:
    assert await frontier.put(discovered(url)) == [OK]
    assert await frontier.queues() == [queue]


async def test_what_is_no_url_or_has_too_long_a_key_is_skipped(frontier: Served) -> None:
    items = [
        discovered(""),
        discovered("http:///path"),
        discovered("http://a.test/", key="k" * 256),
        messages.URLItem(),
    ]
    assert await frontier.put(*items) == [SKIPPED] * 4
    assert await frontier.put(discovered("http://a.test/", key="k" * 255)) == [OK]
    assert await frontier.queues(include_inactive=True) == ["k" * 255]


async def test_a_url_is_unique_in_its_crawl_and_a_known_one_moves_to_another_queue(frontier: Served) -> None:
    assert await frontier.put(discovered("http://a.test/", key="one")) == [OK]
    assert await frontier.put(discovered("http://a.test/", key="two")) == [SKIPPED]
    assert await frontier.queues(include_inactive=True) == ["one"]
    assert await frontier.put(known("http://a.test/", LONG_AGO, key="two")) == [OK]
    assert (await frontier.stats(key="one")).size == 0
    assert await frontier.get("DEFAULT", key="two") == ["http://a.test/"]


async def test_metadata_comes_back_as_it_was_put(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/", metadata={"depth": ["3"], "from": ["x", "y"]}))
    [got] = [info async for info in frontier.call.GetURLs(messages.GetParams())]
    assert {name: list(values.values) for name, values in got.metadata.items()} == {
        "depth": ["3"],
        "from": ["x", "y"],
    }
    assert (got.key, got.crawlID) == ("a.test", "DEFAULT")


async def test_a_batch_of_discovered_urls_has_one_acknowledgement_with_a_status_for_each(frontier: Served) -> None:
    def batches() -> Iterator[messages.DiscoveredBatch]:
        for number in range(40):
            urls = ["http://a.test/same", f"http://a.test/{number}", ""]
            yield messages.DiscoveredBatch(ID=f"b{number}", items=[discovered(url).discovered for url in urls])

    acks = [(ack.ID, list(ack.statuses)) async for ack in frontier.call.PutDiscovered(batches())]
    assert acks[0] == ("b0", [OK, OK, SKIPPED])
    assert acks[1:] == [(f"b{number}", [SKIPPED, OK, SKIPPED]) for number in range(1, 40)]
    assert (await frontier.stats()).size == 41


async def test_a_client_that_takes_no_acknowledgements_is_made_to_wait(frontier: Served) -> None:
    """HTTP/2 pushes back: neither side keeps more than some."""
    urls, sent = 200_000, 0

    async def items() -> AsyncIterator[messages.URLItem]:
        nonlocal sent
        for number in range(urls):
            yield discovered(f"http://a.test/{number}/{'x' * 900}")
            sent += 1

    stream = frontier.call.PutURLs(items())
    await stream.read()
    last = -1
    while sent != last:  # until it has to wait
        last = sent
        await asyncio.sleep(1)
    assert ITEMS_MAX <= sent < urls // 4
    assert (await frontier.stats()).size < urls // 4
    stream.cancel()


async def test_urls_are_listed_counted_and_found_whatever_their_state(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/waits"), known("http://a.test/DONE"), known("http://b.test/", FAR))
    await frontier.get("DEFAULT", key="a.test")

    async def urls(**wanted: object) -> list[str]:
        found = frontier.call.ListURLs(messages.ListUrlParams(**wanted))  # type: ignore[arg-type]
        return sorted([item.known.info.url async for item in found])

    every = ["http://a.test/DONE", "http://a.test/waits", "http://b.test/"]
    assert await urls() == every
    assert sorted(await urls(size=2) + await urls(start=2)) == every
    assert await urls(key="b.test") == ["http://b.test/"]
    assert await urls(filter="done") == []
    assert await urls(filter="done", ignoreCase=True) == ["http://a.test/DONE"]
    for wanted, number in (({}, 3), ({"key": "a.test"}, 2), ({"filter": "wait"}, 1), ({"crawlID": "other"}, 0)):
        assert (await frontier.call.CountURLs(messages.CountUrlParams(**wanted))).value == number  # type: ignore[arg-type]
    found = await frontier.call.GetURLStatus(messages.URLStatusRequest(url="http://b.test/", key="b.test"))
    assert (found.known.info.url, found.known.refetchable_from_date) == ("http://b.test/", FAR)
    assert abs(found.creation_date - time.time()) < 60
    with pytest.raises(grpc.aio.AioRpcError) as fault:
        await frontier.call.GetURLStatus(messages.URLStatusRequest(url="http://c.test/"))
    assert fault.value.code() == grpc.StatusCode.NOT_FOUND


async def test_a_purge_takes_old_urls_that_are_not_in_process(frontier: Served) -> None:
    await frontier.put(discovered("http://a.test/1"), known("http://a.test/2"), known("http://b.test/", FAR))
    await frontier.get("DEFAULT", key="a.test")
    assert (await frontier.call.PurgeURLs(messages.PurgeUrlParams(days=1))).value == 0
    await asyncio.sleep(1)
    assert (await frontier.call.PurgeURLs(messages.PurgeUrlParams())).value == 2
    assert (await frontier.call.CountURLs(messages.CountUrlParams())).value == 1
    assert await frontier.put(discovered("http://b.test/")) == [OK]


async def test_queues_are_listed_in_pages(frontier: Served) -> None:
    await frontier.put(*(discovered(f"http://h{n:03d}.test/") for n in range(120)))
    first = await frontier.call.ListQueues(messages.Pagination())
    assert (len(first.values), first.total, first.size) == (100, 120, 100)
    rest = await frontier.queues(start=100, size=50)
    assert len(rest) == 20 and not set(rest) & set(first.values)


async def test_the_node_and_log_levels_answer(frontier: Served) -> None:
    assert list((await frontier.call.ListNodes(messages.Empty())).values) == [frontier.where]
    await frontier.call.SetLogLevel(messages.LogLevelParams(package="x", level=messages.LogLevelParams.ERROR))
