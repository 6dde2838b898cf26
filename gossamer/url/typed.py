"""What a person types: a URL, a seed with what is said of it, a list of seeds.

One reader for the command, its lists (`--file`), the library and the API, so that what works in one place works in
all of them:

    https://example.org/docs
    example.org                                   what people type; https is meant
    https://example.org/ priority=high max_depth=2
    # a remark, also behind a URL                 # like this

A list may be as long as it likes: it is read as a stream, and a line that makes no sense is named with its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from gossamer.records import Seed, Url
from gossamer.url.canonical import canonicalize

BOM = b"\xef\xbb\xbf"  # some editors begin a file with it
LINE_BYTES_MAX = 1 << 16  # of a list: more is no URL

_HOST_AND_PATH = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?")
_WANTED = "it needs http:// or https:// and a host"


PRIORITIES = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""Words for priorities, wherever one is given. For a seed 0.6 is what it has if nothing is said."""


class NotASeed(ValueError):
    """This is no URL that can be crawled, or what is said of it makes no sense; the text says why."""


def url_in(text: str) -> Url:
    url = canonicalize(text)
    if url is None and _HOST_AND_PATH.fullmatch(text):
        url = canonicalize(f"https://{text}")
    if url is None:
        raise NotASeed(f"{text!r} is not a URL that can be crawled: {_WANTED}")
    return url


def seed_in(text: str) -> Seed:
    """A URL, and behind it `priority=` and `max_depth=` where they are said."""
    if not (parts := text.split()):
        raise NotASeed(f"an empty text is not a URL that can be crawled: {_WANTED}")
    typed, *words = parts
    if not words:  # as most are
        return Seed(url_in(typed))
    if any("=" not in word for word in words):
        return Seed(url_in(text))  # a URL with a blank in it, perhaps
    return said_of(url_in(typed), words)


def priority_in(text: str) -> float:
    """A number from 0 to 1, or a word for one."""
    try:
        priority = PRIORITIES[text] if text in PRIORITIES else float(text)
    except ValueError:
        priority = -1.0
    if not 0 <= priority <= 1:
        raise ValueError(f"{text!r} is no priority: it is high, medium, low or a number from 0 to 1")
    return priority


def said_of(url: Url, words: Iterable[str]) -> Seed:
    said = dict(word.split("=", 1) for word in words)
    number = {"priority": PRIORITIES[said["priority"]]} if said.get("priority") in PRIORITIES else {}
    try:
        return msgspec.convert({"url": url} | said | number, Seed, strict=False)
    except msgspec.ValidationError as fault:
        raise NotASeed(f"{' '.join(f'{name}={value}' for name, value in said.items())}: {fault}") from None


def seeds_in(lines: Iterable[bytes], name: str) -> Iterator[Seed]:
    """The seeds of a list; `name` is what messages call it."""
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > LINE_BYTES_MAX:
                raise NotASeed(f"it has more than {LINE_BYTES_MAX:,} bytes")
            text = (line if number > 1 else line.removeprefix(BOM)).decode().partition(" #")[0].strip()
            if text and text[0] != "#":
                yield seed_in(text)
        except UnicodeDecodeError:
            raise NotASeed(f"{name}, line {number}: not UTF-8 text") from None
        except NotASeed as fault:
            raise NotASeed(f"{name}, line {number}: {fault}") from None
