"""Small line charts as SVG, for docs/pictures. No library: a chart is some lines, some words and two axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#c0392b", "#27863f", "#8e5ea2", "#d08a1d")
WIDTH, HEIGHT, MARGIN = 420, 300, 46

Lines = Mapping[str, Sequence[tuple[float, float]]]


def chart(title: str, lines: Lines, across: str, low: float, high: float) -> str:
    """One chart with a logarithmic axis across; what lies outside of `low` to `high` is cut off."""
    points = [point for line in lines.values() for point in line]
    first, last = math.log(min(x for x, _ in points)), math.log(max(x for x, _ in points))

    def at(x: float, y: float) -> tuple[float, float]:
        share = (math.log(x) - first) / (last - first)
        up = (min(max(y, low), high) - low) / (high - low)
        return MARGIN + share * (WIDTH - MARGIN - 12), HEIGHT - 40 - up * (HEIGHT - 110)

    parts = [f'<text x="{MARGIN}" y="20" font-weight="bold">{escape(title)}</text>']
    for step in range(5):
        y = low + (high - low) * step / 4
        _, height = at(math.exp(first), y)
        colour = "#555" if abs(y) < 1e-9 else "#ddd"
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - 12}" y1="{height:.1f}" y2="{height:.1f}" stroke="{colour}"/>'
            f'<text x="{MARGIN - 6}" y="{height + 4:.1f}" text-anchor="end">{y:+.2g}</text>'
        )
    for x in sorted({x for x, _ in points}):
        where, _ = at(x, low)
        parts.append(f'<text x="{where:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<text x="{WIDTH / 2 + 20}" y="{HEIGHT - 6}" text-anchor="middle">{escape(across)}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        where = MARGIN + (number % 2) * 180
        parts.append(f'<text x="{where}" y="{36 + 14 * (number // 2)}" fill="{colour}">{escape(name)}</text>')
    return "\n".join(parts)


def write(path: Path, charts: Sequence[str], columns: int = 2) -> None:
    width, height = WIDTH * columns, HEIGHT * -(-len(charts) // columns)
    body = "\n".join(
        f'<g transform="translate({number % columns * WIDTH},{number // columns * HEIGHT})">\n{one}\n</g>'
        for number, one in enumerate(charts)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="{width}" height="{height}" fill="white"/>\n'
        f"{body}\n</svg>\n",
        encoding="utf-8",
    )
