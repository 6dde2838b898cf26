"""Processors as users may write them, good and bad; the sandbox imports this module too."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

from gossamer.process.media_types import processes
from gossamer.records import Link, Page


@processes("text/x-recipe")
def recipe(body: bytes, url: str, content_type: str | None) -> Page:
    """The first line is the title; lines that start with `see` are links."""
    title, *lines = body.decode().splitlines()
    links = [Link(line.removeprefix("see ")) for line in lines if line.startswith("see ")]
    return Page(url, title=title, text=" ".join(lines), links=links)


@processes("application/x-told", sandbox=True)
def does_as_told(body: bytes, url: str, content_type: str | None) -> Page:
    match body.decode().split():
        case ["crash"]:
            ctypes.string_at(0)
        case ["hang"]:
            ctypes.PyDLL(None).pause()  # in C, with the interpreter locked
        case ["sleep", seconds]:
            time.sleep(float(seconds))
        case ["eat", size]:
            return Page(url, title=str(len(bytearray(int(size)))))
        case ["kill"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["exit"]:
            sys.exit(7)
        case ["leave"]:
            os._exit(7)
        case ["print"]:
            print("hello")
            os.write(1, b"hello")
            sys.stdin.read()
        case ["raise"]:
            raise KeyError("a bug")
    return Page(url, title=body.decode(), text=str(os.getpid()))
