"""The log: what the crawl writes about itself for machines, and for people who read it later ([log] in the settings).

One line for each thing: when, how important, its name, and what belongs to it.

    2026-07-01T12:00:00.000Z debug fetch url=http://a.test/ status=200 bytes=5120 ms=12.3 verdict=original attempt=1
    {"at":"2026-07-01T12:00:00.000Z","level":"debug","event":"fetch","url":"http://a.test/","status":200,...}

The supervisor says what it says at `info` and `warning`; at `debug` each worker adds a line for every request that it
made, and for every URL that it was not allowed to ask for. All write to one file, which the supervisor opens and
workers inherit. It is opened for appending, and each line is one write, so that lines come whole and none is lost.

Without a file the log goes to standard error. In the form `console` down to `info` the terminal says the same
already, so nothing is written; otherwise the log takes the place of the terminal's lines, to be all that is read
there. A log is worth no crawl: what cannot be written is not.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Literal, TextIO

import msgspec

from gossamer.clock import Clock
from gossamer.records import Failed, Fetched, Moved, Outcome, Postponed, Refused, RobotsRead
from gossamer.settings import LogSettings
from gossamer.text import moment

Level = Literal["debug", "info", "warning"]
Field = str | int | float | None

LEVELS = ("debug", "info", "warning", "off")
PLAIN = re.compile(r'[^\s"=]+')  # what needs no quotes


def takes_the_terminal(settings: LogSettings) -> bool:
    """Whether standard error is the log's, and nothing else is to be written there."""
    return not settings.file and settings.level != "off" and (settings.form == "json" or settings.level == "debug")


def opened(settings: LogSettings, out: TextIO) -> int | None:
    """Where lines go, as a file descriptor of its own; None: nowhere."""
    if settings.file and settings.level != "off":
        return os.open(settings.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    return os.dup(out.fileno()) if takes_the_terminal(settings) else None


class Log:
    def __init__(self, settings: LogSettings, fd: int | None, clock: Clock) -> None:
        self._fd = fd
        self._is_json = settings.form == "json"
        self._clock = clock
        self._from = LEVELS.index(settings.level) if fd is not None else len(LEVELS)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def has_fetches(self) -> bool:
        return self._from == 0

    def info(self, event: str, **fields: Field) -> None:
        self.write("info", event, fields)

    def warning(self, event: str, **fields: Field) -> None:
        self.write("warning", event, fields)

    def write(self, level: Level, event: str, fields: dict[str, Field]) -> None:
        if self._fd is None or LEVELS.index(level) < self._from:
            return
        at = moment(self._clock.now()) or ""
        told = {name: value for name, value in fields.items() if value not in (None, "")}
        if self._is_json:
            line = msgspec.json.encode({"at": at, "level": level, "event": event} | told)
        else:
            words = (f"{name}={_quoted(str(value))}" for name, value in told.items())
            line = " ".join((at, level, event, *words)).encode(errors="replace")
        with suppress(OSError):
            os.write(self._fd, line + b"\n")

    def fetched(self, outcome: Outcome) -> None:
        """A worker's line for one lease: a request and its answer, or why there was none."""
        result = outcome.result
        exchange = result.exchange
        event, url = "fetch", outcome.lease.url
        fields: dict[str, Field] = {}
        match result:
            case Fetched(body_bytes=body_bytes):
                fields = {"bytes": body_bytes, "verdict": outcome.verdict.kind}
            case Moved(body=body, target=target):
                fields = {"bytes": len(body), "moved_to": target}
            case RobotsRead():
                url = robots_url(result)
            case Refused(reason=reason, detail=detail):
                event, fields = "refused", {"reason": reason, "detail": detail}
            case Postponed(reason=reason, wait_s=wait_s, detail=detail):
                event, fields = "postponed", {"reason": reason, "wait_s": round(wait_s, 3)}
                fields |= {"detail": detail} if detail else {}
            case Failed(reason=reason, detail=detail):
                fields = {"reason": reason, "detail": detail}
        told: dict[str, Field] = {"url": url}
        if exchange is not None:
            took_ms = round(1000 * (exchange.ended_at - exchange.started_at), 1)
            told |= {"status": exchange.status, "ms": took_ms, "ip": exchange.ip}
            told |= {"proxy": exchange.proxy} if exchange.proxy else {}
        self.write("debug", event, told | fields | {"attempt": outcome.lease.attempt})


def robots_url(read: RobotsRead) -> str:
    """What was asked for, which after a redirect is not the origin's own file."""
    scheme, _, host = read.robots.origin.partition("://")
    path = "/robots.txt"
    if read.exchange is not None and (found := re.match(rb"GET (\S+) \S+\r\nHost: (\S+)", read.exchange.request)):
        path, host = found[1].decode("latin-1"), found[2].decode("latin-1")
    return f"{scheme}://{host}{path}"


def _quoted(text: str) -> str:
    return text if PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
