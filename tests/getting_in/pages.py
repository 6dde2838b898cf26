"""A small site for tests: answers by path, which a test may change while it is served."""

from __future__ import annotations

from collections.abc import Callable

from tests.fetch.raw_server import RawServer

Answers = dict[str, bytes]
WORDS = ("river", "stone", "cloud", "meadow", "winter", "lantern", "copper", "garden", "violin", "marble", "orchard")


def html(body: str, status: str = "200 OK", *headers: str) -> bytes:
    text = f"<!doctype html><title>A page</title><main>{body}</main>".encode()
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(text)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + text


def moved(target: str, *headers: str) -> bytes:
    return html("moved", "302 Found", f"Location: {target}", *headers)


NOT_THERE = html("not there", "404 Not Found")


def path_of(request: bytes) -> str:
    return request.split(b" ", 2)[1].decode()


def header_of(request: bytes, name: str) -> str | None:
    for line in request.split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.decode().lower() == name.lower():
            return value.strip().decode()
    return None


def answers(
    server: RawServer, by_path: Answers, asked: Callable[[bytes], bytes | None] = lambda request: None
) -> None:
    """What is not in the table is not there, robots.txt included. `asked`: goes before the table."""
    server.answer = lambda request: [asked(request) or by_path.get(path_of(request), NOT_THERE)]


def long_text(number: int, changed: str = "") -> str:
    """Some hundred words: the same for the same number, but for the one that was changed."""
    words = [f"{WORDS[(number + at * at + at // 7) % len(WORDS)]}{(at * (number + 3)) % 11}" for at in range(400)]
    words[200] = changed or words[200]
    return f"<p>{' '.join(words)}</p>"
