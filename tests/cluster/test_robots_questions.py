"""Questions about a robots.txt between nodes: one request however many ask, lost messages, bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster import robots_questions
from gossamer.cluster.link_messages import link_messages, question_message, read_message
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.robots_questions import AGAIN_S, ANSWERED_S, RobotsQuestions
from gossamer.interfaces import HostBlocked, NoBooking
from gossamer.questions import Question, RobotsAnswer, RobotsQuestion
from gossamer.records import Answer, Exchange, Failed, Fetched, Link, Moved, Reason, Refused

PARTITIONS = 5
URL = "https://cdn.test/robots.txt"


class Host:
    """The host that is asked, behind its bookings."""

    def __init__(self) -> None:
        self.answer: Answer = Fetched(Exchange(b"", b"", 200, "", 1.0, 2.0, 0.1), b"User-agent: *\nDisallow: /no\n")
        self.fault: Exception | None = None
        self.requests = 0
        self.may_be_asked = asyncio.Event()
        self.may_be_asked.set()

    async def fetch(self, url: str, *_: Any, **limits: Any) -> Answer:
        assert url == URL and limits["body_bytes_max"] <= 500 << 10
        self.requests += 1
        return self.answer

    @asynccontextmanager
    async def booking_of(self, url: str) -> AsyncIterator[Callable[[Answer], None]]:
        if self.fault is not None:
            raise self.fault
        await self.may_be_asked.wait()
        yield lambda answer: None


class Nodes:
    """An asker and an owner, with what they sent to each other."""

    def __init__(self) -> None:
        self.clock, self.host = VirtualClock(), Host()
        self.sent: list[tuple[int, Question]] = []
        self.asker, self.owner = self._node(), self._node()

    def _node(self) -> RobotsQuestions:
        async def send(partition: int, message: Question) -> None:
            self.sent.append((partition, message))

        node = RobotsQuestions(send, self.host.booking_of, PARTITIONS, self.clock)
        node.scheme_fetchers = {"https": self.host}
        return node

    async def deliver(self) -> list[Question]:
        """All that is on its way, in the form in which it goes."""
        await settle()
        sent, self.sent = self.sent, []
        for _, message in sent:
            node = self.owner if isinstance(message, RobotsQuestion) else self.asker
            found = read_message(question_message(message))
            assert not isinstance(found, list)
            node.hear(found)
        await settle()
        return [message for _, message in sent]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def nodes() -> AsyncIterator[Nodes]:
    made = Nodes()
    yield made
    await made.asker.close()
    await made.owner.close()


async def test_an_answer_comes_to_the_partition_of_the_origin_and_counts_once(nodes: Nodes) -> None:
    assert nodes.asker.answer_for("http://a.test", URL) is None
    await settle()
    assert [partition for partition, _ in nodes.sent] == [partition_of(URL, PARTITIONS)]
    await nodes.deliver()
    assert [partition for partition, _ in nodes.sent] == [partition_of("http://a.test/", PARTITIONS)]
    await nodes.deliver()
    found = nodes.asker.answer_for("http://a.test", URL)
    assert isinstance(found, Fetched) and found.body == b"User-agent: *\nDisallow: /no\n"
    assert found.exchange.ended_at == nodes.clock.now()  # by our clock
    assert nodes.asker.answer_for("http://a.test", URL) is None  # the next one is asked for anew


async def test_many_origins_that_ask_for_one_url_are_one_request(nodes: Nodes) -> None:
    origins = [f"http://h{number}.test" for number in range(50)]
    nodes.host.may_be_asked.clear()
    for origin in origins:
        nodes.asker.answer_for(origin, URL)
    await nodes.deliver()
    nodes.host.may_be_asked.set()
    await nodes.deliver()
    assert nodes.host.requests == 1
    assert all(isinstance(nodes.asker.answer_for(origin, URL), Fetched) for origin in origins)
    # Who asks within a minute is answered from memory, later the host is asked again.
    nodes.asker.answer_for("http://late.test", URL)
    await nodes.deliver()
    await nodes.deliver()
    assert nodes.host.requests == 1 and nodes.asker.answer_for("http://late.test", URL) is not None
    nodes.clock.advance(ANSWERED_S + 1)
    nodes.asker.answer_for("http://later.test", URL)
    await nodes.deliver()
    assert nodes.host.requests == 2


async def test_a_question_that_is_lost_is_sent_again_and_not_sooner(nodes: Nodes) -> None:
    for _ in range(5):
        assert nodes.asker.answer_for("http://a.test", URL) is None
        nodes.clock.advance(1)
    await settle()
    assert len(nodes.sent) == 1
    nodes.sent.clear()  # lost
    nodes.clock.advance(AGAIN_S)
    nodes.asker.answer_for("http://a.test", URL)
    assert len(await nodes.deliver()) == 1
    await nodes.deliver()
    assert nodes.asker.answer_for("http://a.test", URL) is not None


async def test_without_a_turn_nothing_is_said_and_a_block_is_told(nodes: Nodes) -> None:
    nodes.host.fault = NoBooking("cdn.test")
    nodes.asker.answer_for("http://a.test", URL)
    await nodes.deliver()
    assert nodes.sent == []
    nodes.host.fault = HostBlocked("cdn.test")
    nodes.clock.advance(AGAIN_S)
    nodes.asker.answer_for("http://a.test", URL)
    await nodes.deliver()
    await nodes.deliver()
    found = nodes.asker.answer_for("http://a.test", URL)
    assert isinstance(found, Failed) and found.reason is Reason.BLOCKED and nodes.host.requests == 0


@pytest.mark.parametrize(
    "answer",
    [
        Moved(Exchange(b"", b"", 301, "", 1.0, 2.0, 0.1), b"", "https://further.test/robots.txt"),
        Failed(Reason.GONE, Exchange(b"", b"", 404, "", 1.0, 2.0, 0.1), "no such file", 2.0),
        Failed(Reason.TIMEOUT, None, "5 s", 2.0),
        Refused(Reason.PRIVATE_ADDRESS, "10.0.0.1"),
    ],
)
async def test_whatever_came_of_it_is_told_as_it_was(nodes: Nodes, answer: Answer) -> None:
    nodes.host.answer = answer
    nodes.asker.answer_for("http://a.test", URL)
    await nodes.deliver()
    await nodes.deliver()
    found = nodes.asker.answer_for("http://a.test", URL)
    assert type(found) is type(answer)
    if isinstance(found, Failed) and isinstance(answer, Failed):
        assert (found.reason, found.detail) == (answer.reason, answer.detail)
        assert (found.exchange and found.exchange.status) == (answer.exchange and answer.exchange.status)
    if isinstance(found, Moved) and isinstance(answer, Moved):
        assert (found.target, found.exchange.status) == (answer.target, 301)


async def test_what_is_kept_is_bounded(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots_questions, "KEPT_BYTES_MAX", 100_000)
    for number in range(100):
        nodes.asker.hear(RobotsAnswer(f"http://h{number}.test", URL, 200, b"x" * 9_000))
    found = [nodes.asker.answer_for(f"http://h{number}.test", URL) for number in range(100)]
    assert [answer is not None for answer in found] == [False] * 90 + [True] * 10  # the newest
    monkeypatch.setattr(robots_questions, "AT_ONCE", 3)
    nodes.host.may_be_asked.clear()
    for number in range(10):
        nodes.owner.hear(RobotsQuestion("http://a.test", f"https://cdn.test/{number}"))
    await settle()
    assert len(nodes.owner._asking) == 3


def test_messages_of_links_are_read_as_before() -> None:
    links = [Link("http://a.test/1"), Link("http://a.test/2", source="http://a.test/")]
    assert [read_message(message) for message in link_messages(links)] == [links]
