"""The picture of a crawl for a window of any size: pure functions from how it stands to rows of text.

Blocks stand in one order and matter in another. Those that matter most get their rows first; in what is left the
latest events are shown, so that a window is always full and never overfull. In wide windows lists stand beside each
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text

from gossamer import __version__
from gossamer.messages.control_messages import Event, Now, Point
from gossamer.settings import CrawlSettings
from gossamer.supervisor.chart import bar, chart
from gossamer.supervisor.standstill import why_nothing
from gossamer.text import counted, printable, size, span, time_of_day

ETA_S = 60.0  # the rate of pages that what is left is reckoned with is over this long
WIDE = 76  # columns: lists stand beside each other
MARK = 8  # columns: a status and most reasons; a longer one moves its URL
EVENTS_MIN = 3  # rows; fewer tell nothing
CLASSES = (("2xx", "green"), ("3xx", "cyan"), ("4xx", "yellow"), ("5xx", "red"), ("none", "magenta"))


@dataclass(frozen=True)
class Scene:
    """All that there is to show."""

    now: Now
    points: Sequence[Point]  # of the last minutes, one a second
    events: Sequence[Event]
    said: Sequence[tuple[float, str]]  # what the crawl told, and when
    limits: CrawlSettings
    title: str


class Block(NamedTuple):
    matters: int  # 0: most
    rows: list[Text]
    is_apart: bool = False  # from the block above, where there is room


def picture(scene: Scene, width: int, height: int) -> list[Text]:
    """At most `height` rows of at most `width` columns."""
    listed = max(1, min(8, (height - 14) // 4))  # hosts in a list
    above = [
        Block(0, [_title(scene, width)]),
        Block(2, [_progress(scene, width)], is_apart=True),
        Block(3, _figures(scene.now, width), is_apart=True),
        Block(6, _speed(scene, width, 3 if height >= 30 else 1), is_apart=True),
        Block(4, [_answers(scene.now)]),
        Block(5, [_errors(scene.now)] if scene.now.errors else []),
        Block(8, [_said(*each, scene.now.at) for each in list(scene.said)[-2:]]),
        Block(7, _hosts(scene.now, width, listed), is_apart=True),
    ]
    below = [Block(1, _doing(scene.now, width), is_apart=True), Block(0, [_keys(scene.now, width)])]
    shown = _fitting([*above, *below], height)
    gaps = sum(block.is_apart for block in (*above, *below)) + 1  # one is above the events
    if height - sum(len(block.rows) for block in shown) >= gaps + EVENTS_MIN:
        shown = [block._replace(rows=[Text(), *block.rows]) if block.is_apart else block for block in shown]
        shown[len(above) - 1].rows.append(Text())
    rows = [[row for block in part for row in block.rows] for part in (shown[: len(above)], shown[len(above) :])]
    room = height - len(rows[0]) - len(rows[1])
    events = [_event(event, width) for event in list(scene.events)[-room:]] if room else []
    return [*rows[0], *events, *[Text()] * (room - len(events)), *rows[1]]


def _fitting(blocks: Sequence[Block], height: int) -> list[Block]:
    """With the rows that fit: of one that does not fit the first ones, and none of those that matter less."""
    fitting = list(blocks)
    for number, block in sorted(enumerate(blocks), key=lambda each: each[1].matters):
        fitting[number] = block._replace(rows=block.rows[:height])
        height -= len(fitting[number].rows)
    return fitting


# ---- blocks ----------------------------------------------------------------------------------------------


def _title(scene: Scene, width: int) -> Text:
    now = scene.now
    ran = f"{span(now.at - now.started_at)} " if width >= 30 else ""
    name = f" gossamer {__version__} · "
    room = max(0, width - len(name) - len(ran) - 1)
    # Of a long path its end tells most.
    title = scene.title if len(scene.title) <= room else f"…{scene.title[len(scene.title) - room + 1 :]}"
    return Text.assemble(f"{name}{title}".ljust(width - len(ran)), ran, style="reverse bold")


def _progress(scene: Scene, width: int) -> Text:
    """Towards the limit that is reached first; without one, how much of what is known is done."""
    now, limits = scene.now, scene.limits
    totals, elapsed_s = now.totals, now.at - now.started_at
    ways: list[tuple[float, float, str]] = []  # seconds left, share done, words
    if limits.max_pages is not None:
        rate = _pages_per_s(scene)
        left_s = max(0, limits.max_pages - totals.pages) / rate if rate else float("inf")
        ways.append((left_s, totals.pages / limits.max_pages, f"{totals.pages:,} of {limits.max_pages:,} pages"))
    if limits.max_time_s is not None:
        words = f"{span(elapsed_s)} of {span(limits.max_time_s)}"
        ways.append((limits.max_time_s - elapsed_s, elapsed_s / limits.max_time_s, words))
    if ways:
        left_s, share, words = min(ways)
        words += f" · about {span(left_s)} left" if left_s < float("inf") else ""
    else:
        done = totals.known - totals.queued - totals.waiting + totals.revisits
        share, words = (
            (done / totals.known if totals.known else 0.0),
            f"{done:,} of {totals.known:,} URLs known so far",
        )
    words = f" {min(1.0, share):4.0%}  {words}"
    return Text.assemble(bar(share, max(4, width - len(words)), "green"), words)


def _pages_per_s(scene: Scene) -> float:
    lately = [point for point in scene.points if point.at >= scene.now.at - ETA_S]
    if len(lately) < 2:
        return scene.now.pages_per_s
    return (lately[-1].pages - lately[0].pages) / (lately[-1].at - lately[0].at)


def _figures(now: Now, width: int) -> list[Text]:
    totals = now.totals
    cells = [
        ("pages", f"{totals.pages:,}", f"{now.pages_per_s:,.1f}/s"),
        ("in flight", f"{now.under_way:,}", f"{now.in_flight:,} leased"),
        ("queued", f"{max(0, totals.queued - now.in_flight):,}", f"{totals.waiting:,} waiting"),
        ("hosts", f"{now.active_hosts:,}", f"{totals.hosts:,} met"),
        ("received", size(totals.bytes), f"{size(now.bytes_per_s)}/s"),
        ("memory", size(now.memory_bytes), counted(len(now.workers), "worker")),
        ("disk", size(now.disk_free_bytes), "free"),
    ][: max(1, width // 12)]
    styles = ("dim", "bold", "dim")
    return [
        _beside([Text(line, style=style) for line in lines], width)
        for style, lines in zip(styles, zip(*cells, strict=True), strict=True)
    ]


def _speed(scene: Scene, width: int, height: int) -> list[Text]:
    """Pages a second, the last seconds at the right."""
    pairs = list(zip(scene.points, scene.points[1:], strict=False))[-max(1, width - 20) :]
    values = [(after.pages - before.pages) / (after.at - before.at) for before, after in pairs]
    top = f" top {max(values, default=0.0):,.0f}/s"
    lines = chart(values, max(1, width - 8 - len(top)), height)
    labels = [""] * (height - 1) + ["pages/s "]
    tops = [top, *[" " * len(top)] * (height - 1)]
    return [
        Text.assemble((f"{label:<8}", "dim"), (line, "green"), (top, "dim"))
        for label, line, top in zip(labels, lines, tops, strict=True)
    ]


def _answers(now: Now) -> Text:
    counts = dict.fromkeys((name for name, _ in CLASSES), 0)
    for status, count in now.statuses.items():
        name = f"{status // 100}xx" if status else "none"
        counts[name] = counts.get(name, 0) + count
    text = Text.assemble(("answers ", "dim"))
    for name, style in CLASSES:
        text.append(f" {name} ", style="dim").append(f"{counts[name]:,} ", style=style if counts[name] else "dim")
    return text


def _errors(now: Now) -> Text:
    text = Text.assemble(("reasons ", "dim"))
    for reason, count in sorted(now.errors.items(), key=lambda each: -each[1]):
        text.append(f" {reason} ", style="dim").append(f"{count:,} ", style="yellow")
    return text


def _hosts(now: Now, width: int, most: int) -> list[Text]:
    beside = (width - 2) // 2 if width >= WIDE else width
    slow = [Text("slowest hosts", style="dim")]
    slow += [
        _row(each.host, f"{_took(each.took_s)}{' so far' if each.is_under_way else ''}", beside)
        for each in now.slow[:most]
    ]
    hosts = sum(now.totals.resting_hosts.values()) or len(now.resting)
    resting = [Text(f"resting hosts: {hosts:,}" if hosts else "no host rests", style="dim")]
    for host in now.resting[:most]:
        resting.append(_row(host.host, f"{host.reason} until {time_of_day(host.until, now.at)}", beside))
    if width < WIDE:
        return [*slow, *(resting if hosts else [])]
    rows = max(len(slow), len(resting))
    pairs = zip(slow + [Text()] * (rows - len(slow)), resting + [Text()] * (rows - len(resting)), strict=True)
    return [_beside(list(pair), width) for pair in pairs]


def _doing(now: Now, width: int) -> list[Text]:
    if why := why_nothing(now):
        return [Text(row, style="yellow") for row in wrap(printable(why), width)[:3]]
    requests = f"{counted(now.under_way, 'request')} under way" if now.under_way else "storing what came"
    return [Text(requests if now.in_flight else "", style="dim")]


def _said(at: float, text: str, now: float) -> Text:
    return Text(f"{time_of_day(at, now)} {printable(text.partition(chr(10))[0])}", style="yellow")


def _keys(now: Now, width: int) -> Text:
    if now.is_draining:
        return Text("Ctrl-C again stops at once: a few pages will be fetched again", style="bold")
    words = "Ctrl-C stops cleanly" + ("; the same command goes on" if width >= 50 else "")
    return Text(words, style="dim")


def _event(event: Event, width: int) -> Text:
    mark = str(event.status or event.reason or "")
    text = Text.assemble((f"{mark:<{MARK}} ", "green" if event.is_good else "yellow"), printable(event.url))
    if event.took_s and width >= 100:
        text.append(f"  {size(event.bytes)} in {_took(event.took_s)}", style="dim")
    return text.append(f"  {printable(event.note)}", style="dim") if event.note else text


# ---- pieces ----------------------------------------------------------------------------------------------


def _took(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else span(seconds)


def _beside(texts: Sequence[Text], width: int) -> Text:
    """In columns of the same width."""
    room = width // len(texts)
    whole = Text()
    for text in texts:
        text.truncate(room - 1, overflow="ellipsis", pad=True)
        whole.append_text(text).append(" ")
    return whole


def _row(left: str, right: str, width: int) -> Text:
    """What is at the right stays, however long the left is."""
    text = Text(printable(left))
    text.truncate(max(1, width - len(right) - 3), overflow="ellipsis", pad=True)
    return Text.assemble(text, " ", (right, "yellow"))
