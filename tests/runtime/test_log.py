"""Lines of the log: their two forms, what level they need, and that none of it is worth a crawl."""

from __future__ import annotations

import json
import os
from io import StringIO
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.records import Exchange, Failed, Lease, Link, Outcome, Reason, RobotsCopy, RobotsRead
from gossamer.runtime.log import Log, opened, robots_url, takes_the_terminal
from gossamer.settings import LogSettings

EXCHANGE = Exchange(b"GET /r.txt HTTP/1.1\r\nHost: b.test:81\r\n\r\n", b"", 404, "192.0.2.1", 10.0, 10.25, 0.1)
GONE = Outcome(Lease(Link("http://a.test/x"), "a.test", 60.0, 2), Failed(Reason.GONE, EXCHANGE))


def lines_of(settings: LogSettings, clock: VirtualClock) -> list[str]:
    fd = opened(settings, StringIO())
    log = Log(settings, fd, clock)
    log.fetched(GONE)
    log.info("said", text='two words and "quotes"')
    log.warning("said", text="line\nbreak")
    if fd is not None:
        os.close(fd)
    return Path(settings.file).read_text().splitlines()


def test_a_line_has_time_level_event_and_fields_in_both_forms(folder: Path, clock: VirtualClock) -> None:
    console = lines_of(LogSettings(level="debug", file=str(folder / "a.log")), clock)
    now, answer = "2023-11-14T22:13:20.000Z", "status=404 ms=250.0 ip=192.0.2.1 reason=gone"
    assert console == [
        f"{now} debug fetch url=http://a.test/x {answer} attempt=2",
        f'{now} info said text="two words and \\"quotes\\""',
        f'{now} warning said text="line\\nbreak"',
    ]
    objects = lines_of(LogSettings(level="debug", form="json", file=str(folder / "b.log")), clock)
    fetch, info, warning = map(json.loads, objects)
    assert fetch == {
        "at": "2023-11-14T22:13:20.000Z",
        "level": "debug",
        "event": "fetch",
        "url": "http://a.test/x",
        "status": 404,
        "ms": 250.0,
        "ip": "192.0.2.1",
        "reason": "gone",
        "attempt": 2,
    }
    assert info["text"] == 'two words and "quotes"' and warning["level"] == "warning"


def test_a_level_leaves_out_what_is_below_it(folder: Path, clock: VirtualClock) -> None:
    file = str(folder / "c.log")
    assert len(lines_of(LogSettings(level="info", file=file), clock)) == 2
    assert len(lines_of(LogSettings(level="warning", file=file), clock)) == 3  # it appends
    assert opened(LogSettings(level="off", file=str(folder / "d.log")), StringIO()) is None
    assert not (folder / "d.log").exists()


@pytest.mark.parametrize(
    ("settings", "takes"),
    [
        (LogSettings(), False),  # the terminal says the same already
        (LogSettings(level="debug"), True),
        (LogSettings(form="json"), True),
        (LogSettings(form="json", level="off"), False),
        (LogSettings(form="json", file="x.log"), False),
    ],
)
def test_without_a_file_the_log_takes_the_place_of_the_terminal(settings: LogSettings, takes: bool) -> None:
    assert takes_the_terminal(settings) is takes


def test_a_full_disk_costs_the_line_and_not_the_crawl(clock: VirtualClock) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    Log(LogSettings(), full, clock).info("said", text="nobody hears this")
    os.close(full)


def test_the_url_of_a_redirected_robots_txt_is_where_it_was_asked_for() -> None:
    copy = RobotsCopy("http://a.test", 0.0, 200)
    assert robots_url(RobotsRead(copy, EXCHANGE)) == "http://b.test:81/r.txt"
    assert robots_url(RobotsRead(copy)) == "http://a.test/robots.txt"
