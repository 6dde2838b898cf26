"""Rows as lines of text: JSON, or values with tabs between them; packed where the file's name ends in .gz.

A file can be added to: what it had is copied first, so until the very end the old one is there untouched, and gzip
allows another member behind the first.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import msgspec
from isal import igzip

from gossamer.atomic import replacing
from gossamer.export.rows import Column, Row

Encode = Callable[[Row], bytes]

BREAKS = re.compile(r"[\t\r\n]+")


def opened(path: Path, mode: str, *, named: Path | None = None) -> AbstractContextManager[IO[bytes]]:
    """`named`: the name that the file will have, where that is another."""
    if (named or path).suffix == ".gz":
        file: IO[bytes] = igzip.open(path, mode)  # type: ignore[no-untyped-call]
        return file
    return path.open(mode)


@contextmanager
def written(target: Path | None, *, keep: bool = False) -> Iterator[IO[bytes]]:
    """To write lines to; None is standard output. With `keep` behind those that the file has already."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(target) as partial:
        if keep:
            shutil.copyfile(target, partial)
        with opened(partial, "ab" if keep else "wb", named=target) as file:
            yield file


def lines_in(path: Path) -> Iterator[bytes]:
    with opened(path, "rb") as file:
        yield from file


def encoder(columns: Sequence[Column], path: Path | None) -> tuple[Encode, bytes]:
    """How a row becomes a line of this file, and the line that comes before them all."""
    names = [column.name for column in columns]
    if path is not None and ".tsv" in path.suffixes[-2:]:
        return tab_separated, tab_separated(tuple(names))
    return lambda row: json_line(names, row), b""


def json_line(names: Sequence[str], row: Row) -> bytes:
    return _json(dict(zip(names, row, strict=True))) + b"\n"


def tab_separated(row: Row) -> bytes:
    return ("\t".join(map(_plain, row)) + "\n").encode(errors="replace")


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return BREAKS.sub(" ", value) if isinstance(value, str) else str(value)


_json = msgspec.json.Encoder().encode
