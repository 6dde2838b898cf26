"""The sandbox: reads one document after the other for its worker, under limits, until one of them ends it.

    worker -> sandbox   Setup, once; then for each document a Question, and its body as it is
    sandbox -> worker   a Page

A message is its length (4 bytes) and msgpack. Whatever a parser raises costs its page; running out of memory ends the
process, because nobody knows what is left of it; how it ends tells whether the document was to blame. Why there is
such a process, and its other side: `sandbox.py`.

Kept small, since it is started anew after each death: numpy alone would treble the time that takes.
"""

from __future__ import annotations

import importlib
import mmap
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import msgspec

from gossamer.process.markup.language import language_of
from gossamer.process.media_types import Readers, described
from gossamer.records import Page, Url
from gossamer.settings import ProcessSettings
from gossamer.url.canonical import choose

# Exit statuses.
OUT_OF_MEMORY = 12  # the document needed more than it may have
NO_MEMORY = 13  # this machine had less for it than that
SLACK_BYTES = 16 << 20  # what the allowance may miss by the time it is looked at


class Setup(msgspec.Struct, frozen=True):
    """What the other process has to know to read as this one would."""

    agent: str
    process: ProcessSettings
    schemes: tuple[str, ...]
    parameters_dropped: tuple[str, ...]
    parameters_kept: tuple[str, ...]
    path: list[str]  # where modules are found
    modules: list[str]  # that the user's own processors are in
    as_markdown: bool = False


class Question(msgspec.Struct, frozen=True):
    url: Url
    media_type: str
    content_type: str | None
    body_bytes: int


def framed(message: msgspec.Struct) -> bytes:
    content = msgspec.msgpack.encode(message)
    return len(content).to_bytes(4, "big") + content


def main() -> None:
    # Ctrl-C and a system that stops everything reach us too; our end is the end of the pipe.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # A processor that reads or prints something must not come in between.
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        _serve(questions, answers)
    except MemoryError:
        os._exit(OUT_OF_MEMORY if _allowance_is_there() else NO_MEMORY)


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    setup = _next(questions, Setup)
    sys.path[:] = setup.path
    choose(setup.schemes, setup.parameters_dropped, setup.parameters_kept)
    cannot = ""
    for module in setup.modules:
        try:
            importlib.import_module(module)
        except Exception as fault:  # a stranger's module, which could be imported in the worker
            cannot = f"{module} cannot be imported by the sandbox: {described(fault)}"
    readers = Readers(setup.agent, setup.process, as_markdown=setup.as_markdown)
    language_of("so that its model is no part of the time of the first document")
    _limit_memory(setup.process.memory_bytes_max)
    while True:
        question = _next(questions, Question)
        body = questions.read(question.body_bytes)
        if len(body) < question.body_bytes:
            _leave()
        signal.setitimer(signal.ITIMER_REAL, setup.process.time_s_max)
        answer = framed(_page(readers, question, body, cannot))
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(answer)
        answers.flush()


def _page(readers: Readers, question: Question, body: bytes, cannot: str) -> Page:
    url, media_type = question.url, question.media_type
    if readers.get(media_type) is None:
        cannot = cannot or f"the sandbox has no processor for {media_type}"
        return Page(url, media_type=media_type, fault=cannot)
    return readers.read(media_type, body, url, question.content_type)


def _next(questions: BinaryIO, wanted: type[Any]) -> Any:
    length = questions.read(4)
    if len(length) < 4:
        _leave()
    return msgspec.msgpack.decode(questions.read(int.from_bytes(length, "big")), type=wanted)


def _leave() -> NoReturn:
    os._exit(0)  # nothing is left to be done, and nobody is left to be told


def _limit_memory(more_bytes: int) -> None:
    """So much more than we have now. RLIMIT_DATA counts all that is private and can be written (Linux 4.7)."""
    most_bytes = _has_bytes() + more_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _has_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmData:")[2].split()[0]) * 1024


def _allowance_is_there() -> bool:
    """Whether this machine would give us all that we may have: else it was the machine that said no."""
    try:
        rest_bytes = resource.getrlimit(resource.RLIMIT_DATA)[0] - _has_bytes() - SLACK_BYTES
        if rest_bytes > 0:
            mmap.mmap(-1, rest_bytes).close()
    except (OSError, MemoryError):
        return False
    return True


if __name__ == "__main__":
    main()
