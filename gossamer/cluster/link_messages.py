"""Links as a link log keeps them: messages of MessagePack, cut so that a partition's owner adds each in one go.

In a cluster some messages are questions of other nodes instead (gossamer/questions.py): a map where links are a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from gossamer.questions import Question
from gossamer.records import Link

MESSAGE_LINKS = 1000  # what the frontier adds in one batch
MESSAGE_BYTES = 1 << 20  # estimated, and rather too high

_encode = msgspec.msgpack.Encoder().encode
read_links = msgspec.msgpack.Decoder(list[Link]).decode
read_message: Callable[[bytes], list[Link] | Question] = msgspec.msgpack.Decoder(list[Link] | Question).decode


def question_message(question: Question) -> bytes:
    return _encode(question)


def link_messages(links: Sequence[Link], bytes_max: int = MESSAGE_BYTES) -> Iterator[bytes]:
    """`bytes_max` is for messages of several links: one link is never cut."""
    part: list[Link] = []
    room = bytes_max
    for link in links:
        bytes_ = 150 + len(link.url) + len(link.source or "") + 4 * len(link.anchor) + len(link.rel)
        if link.chain:
            bytes_ += sum(map(len, link.chain))
        if part and (bytes_ > room or len(part) == MESSAGE_LINKS):
            yield _encode(part)
            part, room = [], bytes_max
        part.append(link)
        room -= bytes_
    if part:
        yield _encode(part)
