"""Answers that others recorded, replayed byte for byte. Each ends in a value, in time, and no connection that might
be out of step is used again.

Where we end differently than the recording's authors expect, it stands in a table with the reason.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import time
from collections.abc import Sequence
from dataclasses import dataclass

from gossamer.fetch.http import Http
from gossamer.records import Answer, Failed, Fetched, Moved, Reason
from tests.cases import Row, content, rows
from tests.hostile.behaviours.rows import BROKEN, Wanted, failed, fetched, moved, shown
from tests.hostile.limits import PATIENCE_S
from tests.hostile.server import Connection, Gone, Scenario, Stage, answer, playing

STAYS_OPEN_S = 0.3  # for a client that would use the connection again; those who read to the end wait as long
BODY = b"Fact: this is really forty-two bytes long."


@dataclass(frozen=True)
class Replayed:
    result: Answer
    is_connection_reused: bool
    took_s: float
    stage: Stage


TRIES = 5
# The connection was closed just when it was used again, or a busy machine took longer than the test's short patience.
ON_A_SLOW_MACHINE = (Reason.STALE_CONNECTION, Reason.TIMEOUT)


def replays(raw: bytes) -> Scenario:
    """Says the recorded bytes, and closes after a while. A second request on the same connection is remembered."""

    async def scenario(connection: Connection) -> None:
        await connection.request()
        await connection.send(raw if connection.number == 1 else answer(b"next"))
        try:
            await asyncio.wait_for(connection.request(), STAYS_OPEN_S)
            await connection.send(answer(b"next"))
        except (TimeoutError, Gone):
            pass

    return scenario


async def replay(http: Http, raw: bytes, path: str = "/") -> Replayed:
    async with playing(replays(raw)) as stage:
        started = time.monotonic()
        result = await http.fetch(stage.url(path))
        took_s = time.monotonic() - started
        for _ in range(TRIES):
            following = await http.fetch(stage.url("/next"))
            if not isinstance(following, Failed) or following.reason not in ON_A_SLOW_MACHINE:
                break
        assert isinstance(following, Fetched) and following.body[:] == b"next", shown(following)
        return Replayed(result, stage.connections == 1, took_s, stage)


async def replay_all(http: Http, answers: Sequence[bytes]) -> list[Replayed]:
    replayed = await asyncio.gather(*(replay(http, raw) for raw in answers))
    for raw, each in zip(answers, replayed, strict=True):
        assert each.took_s < PATIENCE_S, raw
        assert isinstance(each.result, Fetched | Moved | Failed), raw
        if isinstance(each.result, Failed):
            assert not each.is_connection_reused, raw
    return replayed


def raw_of(row: Row) -> bytes:
    if "raw_gz_file" in row:
        return gzip.decompress(content(f"http/{row['raw_gz_file']}"))
    return base64.b64decode(row["raw_response_b64"])


# ---- stray bytes at every position of a head -------------------------------------------------------------

NOT_BROWSERS = "Network Error"  # what browsers make of nearly all of them

# libcurl is more lenient than browsers: it asks for no colon, takes all of a line before the first colon for the name
# and all after it for the value, and looks at nothing behind the status code. Status and body are what was meant.
LENIENT = {
    "COLON": "after-colon after-num after-reason after-value before-colon before-reason in-name in-value leading",
    "HTAB": "after-num before-colon in-name leading",
    "SP": "after-num before-colon in-name leading",
}
# A bare LF ends a line, as RFC 9112, 2.2 permits, and libcurl takes `CR X` for an empty line. So the head ends early,
# and what follows is the body, to the end of the connection.
HEAD_ENDS_EARLY = {"CR": "leading", "LF": "after-reason after-value leading"}


def places(table: dict[str, str]) -> set[tuple[str, str]]:
    return {(char, place) for char, words in table.items() for place in words.split()}


async def test_stray_bytes_in_a_head_never_lead_to_more_than_a_page_or_a_failure(http: Http) -> None:
    cases = rows("http/wpt_h1_parsing")
    replayed = await replay_all(http, [raw_of(row) for row in cases])
    refused, lenient, early = set(), set(), set()
    for row, each in zip(cases, replayed, strict=True):
        is_page = fetched(b"Test.").objection(each.result, each.stage) is None
        if row["browser_fetch_expected"] != NOT_BROWSERS:
            assert is_page, row["id"]
        elif is_page:
            lenient.add((row["char"], row["position"]))
        elif isinstance(each.result, Fetched):
            early.add((row["char"], row["position"]))
            assert each.result.body[:].endswith(b"\r\n\r\nTest.") and not each.is_connection_reused
        else:
            refused.add(row["id"])
            assert BROKEN.objection(each.result, each.stage) is None, row["id"]
    assert lenient == places(LENIENT)
    assert early == places(HEAD_ENDS_EARLY)
    assert len(refused) > len(lenient) + len(early)


# ---- lengths ---------------------------------------------------------------------------------------------


# Browsers read to the end where a length is no number; libcurl calls that a broken answer (None). It compares lengths
# as numbers, and browsers as texts: 030 is 30.
NO_NUMBERS = (
    "aaaah\r\nContent-Length: aaaah",
    "aaaah, aaaah",
    "aaaah",
    "42s",
    "30s",
    "-1",
    "0x20",
    '"30"',
    "",
)
LENGTHS_THAT_DIFFER: dict[str, int | None] = {
    **{f"Content-Length: {text}": None for text in NO_NUMBERS},
    "Content-Length: 030\r\nContent-Length: 30": 30,
    "Content-Length: 030, 30": 30,
}


async def test_a_length_is_what_browsers_take_it_for_or_a_failure(http: Http) -> None:
    cases = rows("http/wpt_content_lengths")
    answers = [b"HTTP/1.1 200 OK\r\n%b\r\n\r\n%b" % (row["input"].encode(), BODY) for row in cases]
    differing = {}
    for row, each in zip(cases, await replay_all(http, answers), strict=True):
        length = len(each.result.body) if isinstance(each.result, Fetched) else None
        if length != row["output"]:
            differing[row["input"]] = length
        if length is not None and length < len(BODY):
            assert not each.is_connection_reused, row["input"]  # what is left of the body is no answer
    assert differing == LENGTHS_THAT_DIFFER


# ---- what Nutch met --------------------------------------------------------------------------------------

NUTCH: dict[str, tuple[Wanted, ...]] = {
    "NUTCH-2564-content-length-nan": (fetched(b"This is a text."), BROKEN),
    "NUTCH-2559-colon-after-status": (fetched(b"This is a text."),),
    "NUTCH-2563-fake-te": (fetched(b"This is a text."),),
    "NUTCH-2557-redirect-bad-body": (moved("http://example.com/", 302),),
    "NUTCH-2558-no-status-line": (BROKEN,),
    "NUTCH-2560-folded-header": (fetched(b"This is a text."),),
    "NUTCH-2561-overlong-header": (failed(Reason.TOO_LARGE, Reason.BROKEN_ANSWER),),
    "NUTCH-2562-chunked-over-limit": (fetched(truncated="length"),),
    "NUTCH-2729-truncation-63k": (fetched(),),
    "NUTCH-2729-truncation-64k": (fetched(),),
    "NUTCH-2729-truncation-65k": (fetched(truncated="length"),),
    "NUTCH-2729-truncation-gzip-63k": (fetched(),),
    "NUTCH-2729-truncation-gzip-64k": (fetched(),),
    "NUTCH-2729-truncation-gzip-65k": (fetched(truncated="length"),),
    # Nutch keeps the part and marks it; here it is a failure, and tried again.
    "partial-content-length": (BROKEN,),
    "NUTCH-2763-empty-reason": (fetched(b"This is a text."),),
    "NUTCH-2555-path": (fetched(),),
}


async def test_what_nutch_met_ends_as_nutch_expects(http: Http) -> None:
    cases = {row["id"].removeprefix("nutch-"): row for row in rows("http/hostile_raw_nutch")}
    assert set(cases) == set(NUTCH)
    replayed = await replay_all(http, [raw_of(row) for row in cases.values()])
    for name, each in zip(cases, replayed, strict=True):
        objections = [wanted.objection(each.result, each.stage) for wanted in NUTCH[name]]
        assert None in objections, (name, objections)
