"""Paragraphs, headings, code and tables one below the other, inside of the lists and quotations that they stand in.

A list or a quotation is a container: each line in it begins with its indent, and the first line of an item with the
mark of the item. The mark is written with the first block of the item, so that an item without text has none.
Between two blocks is an empty line, and between two items only the end of a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Or hostile nesting would be mostly indents.
NEST_MAX = 8  # containers in each other; deeper ones are left out. Some readers stop at 20 levels, of two each
INDENT_CHARS_MAX = 16 << 20  # of all lines together; then containers are left out


@dataclass(eq=False, slots=True)
class List:
    is_ordered: bool = False
    number: int = 1  # of the next item
    is_other: bool = False  # with the other mark, because the list before it would go on otherwise


@dataclass(eq=False, slots=True)
class Container:
    """An item of a list; without a list, a quotation."""

    list: List | None = None
    number: int = 0
    is_begun: bool = False

    @property
    def mark(self) -> str:
        if self.list is None:
            return "> "
        if self.list.is_ordered:
            return f"{self.number}{')' if self.list.is_other else '.'} "
        return "* " if self.list.is_other else "- "

    @property
    def indent(self) -> str:
        return "> " if self.list is None else " " * len(self.mark)


class Blocks:
    def __init__(self) -> None:
        self.around: list[Container] = []
        self._pieces: list[str] = []
        self._last: list[Container] = []  # what was around the last block
        self._room = INDENT_CHARS_MAX

    def __str__(self) -> str:
        return "".join(self._pieces)

    def enter(self, container: Container) -> bool:
        """Whether it counts; then it has to be left."""
        if len(self.around) >= NEST_MAX or self._room <= 0:
            return False
        self.around.append(container)
        return True

    def leave(self) -> None:
        self.around.pop()

    def write(self, lines: Sequence[str]) -> None:
        """One block."""
        if not lines:
            return
        if self._pieces:
            self._pieces.append(self._gap())
        indent = "".join([each.indent for each in self.around])
        first = "".join([each.indent if each.is_begun else each.mark for each in self.around])
        for each in self.around:
            each.is_begun = True
        self._room -= len(indent) * len(lines)
        if self._room <= 0:
            indent = ""
        blank = indent.rstrip()
        rest = [f"\n{indent}{line}" if line else f"\n{blank}" for line in lines[1:]]
        self._pieces += (first, lines[0], *rest)
        self._last = self.around.copy()

    def _gap(self) -> str:
        """What is between the last block and the next."""
        shared = 0
        for one, other in zip(self._last, self.around, strict=False):
            if one is not other:
                break
            shared += 1
        new = self.around[shared] if shared < len(self.around) else None
        if new is not None and new.list is not None:
            before = self._last[shared].list if shared < len(self._last) else None
            if before is new.list:
                return "\n"
            if before is not None and before.is_ordered == new.list.is_ordered:
                new.list.is_other = not before.is_other
            # A list in an item, below its text. One that begins with another number would not begin there.
            in_item = shared > 0 and self.around[shared - 1].list is not None and shared == len(self._last)
            if before is None and in_item and (not new.list.is_ordered or new.number == 1):
                return "\n"
        blank = "".join([each.indent for each in self.around[:shared]]).rstrip()
        return f"\n{blank}\n"
