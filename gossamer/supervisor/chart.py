"""Bars made of characters: one that fills from left to right, and many that stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

EIGHTHS = " ▁▂▃▄▅▆▇█"


def bar(share: float, width: int, style: str) -> Text:
    full = round(width * min(1.0, max(0.0, share)))
    return Text.assemble(("█" * full, style), ("░" * (width - full), "dim"))


def chart(values: Sequence[float], width: int, height: int) -> list[str]:
    """Rows, the upper one first; the last values, at the right. What is above zero is seen, however little it is."""
    values = [0.0] * (width - len(values)) + list(values[-width:])
    top = max(values) or 1.0
    levels = [max(1, round(8 * height * value / top)) if value > 0 else 0 for value in values]
    return ["".join(EIGHTHS[max(0, min(8, level - 8 * row))] for level in levels) for row in reversed(range(height))]
