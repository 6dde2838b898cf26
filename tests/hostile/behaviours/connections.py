"""Rows 5 to 15: connections that do not come about, break, hang or crawl along."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from gossamer.records import Reason
from tests.hostile.behaviours.rows import BROKEN, LATE, Play, Row, failed, fetched, play, played, proven
from tests.hostile.server import HERE, IN_CHUNKS, Connection, Stage, answer, blurts, chunked, drips

PROMISED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"
FILLERS = 4  # connections that fill a queue of length 0


async def closes_at_once(connection: Connection) -> None:
    await connection.request()


async def hangs_up_before_the_request(connection: Connection) -> None:
    pass


async def never_answers(connection: Connection) -> None:
    await connection.request()
    await connection.hang()


async def resets_in_the_status_line(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 2")
    await asyncio.sleep(0.05)  # a reset overtakes what was just sent
    connection.reset()


async def resets_half_way(connection: Connection) -> None:
    await connection.request()
    await connection.send(PROMISED + b"half a page")
    await asyncio.sleep(0.05)
    connection.reset()


def trickles(part: bytes, pause_s: float) -> Play:
    async def scenario(connection: Connection) -> None:
        await connection.request()
        await connection.send(IN_CHUNKS)
        await connection.send_for_ever(chunked(part, end=b""), pause_s)

    return play(scenario, LATE)


@asynccontextmanager
async def nobody_there() -> AsyncIterator[Stage]:
    """A port that was just free; bound and not listened to, so that nobody else gets it meanwhile."""
    stage = Stage(closes_at_once)
    with socket.socket() as bound:
        bound.bind((HERE, 0))
        stage.port = bound.getsockname()[1]
        yield stage


@asynccontextmanager
async def black_hole() -> AsyncIterator[Stage]:
    """A listener that accepts nobody, its queue full: Linux drops the SYN of whoever comes next."""
    stage = Stage(closes_at_once)
    with ExitStack() as sockets:
        listening = sockets.enter_context(socket.socket())
        listening.bind((HERE, 0))
        listening.listen(0)
        stage.port = listening.getsockname()[1]
        for _ in range(FILLERS):
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex((HERE, stage.port))
        yield stage


ROWS: list[Row] = [
    proven(1, "the name does not exist", "test_names.py::test_a_name_that_does_not_exist_has_no_robots_txt_either"),
    proven(
        2,
        "the name server fails or is silent",
        "test_names.py::test_a_name_server_that_fails_or_is_silent_holds_up_nobody_else",
    ),
    proven(3, "the name leads inside", "test_names.py::test_a_name_that_leads_inside_is_refused_unconnected"),
    proven(
        4,
        "the name changes its address after it was looked at",
        "test_names.py::test_a_name_that_changes_its_address_is_checked_where_it_is_connected_to",
    ),
    played(5, "connection refused", nobody=Play(closes_at_once, (failed(Reason.CONNECT),), place=nobody_there)),
    played(
        6,
        "connect never completes",
        # The limit is that of connecting, and libcurl calls it a time-out as well.
        hole=Play(closes_at_once, (failed(Reason.CONNECT, Reason.TIMEOUT),), place=black_hole),
    ),
    played(7, "accepts, never answers", silent=play(never_answers, LATE)),
    played(
        8,
        "closes with no bytes",
        asked=play(closes_at_once, BROKEN),
        unasked=play(hangs_up_before_the_request, BROKEN),
    ),
    played(9, "reset inside the status line", reset=play(resets_in_the_status_line, BROKEN)),
    played(10, "headers, then nothing", hang=play(drips(PROMISED), LATE)),
    played(11, "dropped half-way", fin=play(blurts(PROMISED + b"half a page"), BROKEN)),
    played(12, "reset half-way", reset=play(resets_half_way, BROKEN)),
    played(
        13,
        "slow first byte",
        bearable=play(drips(0.3, answer(b"at last")), fetched(b"at last")),
        unbearable=play(drips(30.0, answer(b"at last")), LATE),
    ),
    played(
        14,
        "slow body",
        bearable=play(drips(answer(b"slow")[:-3], 0.4, b"low"), fetched(b"slow")),
        unbearable=play(drips(answer(b"slow")[:-3], 30.0, b"low"), LATE),
    ),
    played(
        15,
        "a byte now and then, for ever",
        below_the_slowest_rate=trickles(b".", 0.1),
        above_it=trickles(b"." * 20, 0.05),
    ),
    proven(
        16,
        "an idle connection is closed between two requests",
        "test_reuse.py::test_a_connection_closed_while_idle_is_replaced_unnoticed",
    ),
    proven(17, "surplus bytes after the body", "test_reuse.py::test_what_follows_a_body_is_never_the_next_answer"),
    proven(18, "an answer that nobody asked for", "test_reuse.py::test_what_follows_a_body_is_never_the_next_answer"),
]
