"""A route: one line of the table, and what can be read from the function that it names.

The function's types are the declaration: `query` is a struct with the parameters, `body` one with the body, other
names are parts of the path, and what it returns is the answer. All is checked here before it is called.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from gossamer.access.keys import Scope
from gossamer.api.shapes import Problem

JSON = "application/json"
GIVEN = ("context", "request", "caller", "content")  # what any function may have from the server itself


class Query(msgspec.Struct, forbid_unknown_fields=True):
    """Parameters behind the question mark. One that nobody knows is refused: it was meant to do something."""


class NoAnswer(Exception):
    """The answer is a problem (RFC 9457)."""

    def __init__(
        self, status: int, reason: str, detail: str, *, entry: str = "", value: str = "", **headers: str
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.problem = Problem(HTTPStatus(status).phrase, status, detail, reason, entry, value)
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


@dataclass(frozen=True)
class Route:
    method: str
    path: str  # with the names of its parts in braces
    answer: Callable[..., Awaitable[Any]]
    says: str  # what it does, in a sentence
    scope: Scope | None = "read"  # None: whoever asks
    status: int = 200
    errors: tuple[int, ...] = ()  # beside those that any route may have
    media_type: str = JSON

    @cached_property
    def hints(self) -> dict[str, Any]:
        return typing.get_type_hints(self.answer, include_extras=True)

    @property
    def query(self) -> type[Query] | None:
        return self.hints.get("query")

    @property
    def body(self) -> type[msgspec.Struct] | None:
        return self.hints.get("body")

    @property
    def answers(self) -> tuple[type[msgspec.Struct], ...]:
        """The shapes that it may have; none where it is no JSON."""
        answer = self.hints["return"]
        kinds = typing.get_args(answer) if isinstance(answer, types.UnionType) else (answer,)
        return tuple(kind for kind in kinds if not issubclass(kind, Response))

    @property
    def parts(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        # The last part may hold slashes where it is a file's name.
        text = re.escape(self.path).replace(r"\{file\}", "(?P<file>.+)")
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", text))


def read_query(kind: type[Query], given: list[tuple[str, str]]) -> Query:
    values = dict(given)
    if len(values) < len(given):
        names = [name for name, _ in given]
        twice = next(name for name in names if names.count(name) > 1)
        raise NoAnswer(400, "bad_request", f"{twice} is given more than once", entry=twice)
    try:
        query = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as fault:
        raise misfit(fault, values) from None
    for name, value in values.items():
        if getattr(query, name) is None:  # `null` is what JSON calls it; here it is a word like any other
            raise NoAnswer(400, "bad_request", f"{name}: to have none, leave it out", entry=name, value=value)
    return query


def read_body(kind: type[msgspec.Struct], content: bytes) -> msgspec.Struct:
    try:
        return msgspec.convert(_whole(msgspec.json.decode(content)), kind)
    except msgspec.ValidationError as fault:
        raise misfit(fault, None) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise NoAnswer(400, "not_json", f"the body is not JSON: {fault}") from None


def _whole(value: Any) -> Any:
    """To JSON Schema 5.0 is as whole a number as 5."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {name: _whole(one) for name, one in value.items()}
    return value


def misfit(fault: msgspec.ValidationError, values: dict[str, str] | None) -> NoAnswer:
    """Which entry does not fit, and why, from what msgspec says: ... - at `$.urls[3]`."""
    what, _, where = str(fault).partition(" - at `$")
    entry = where.rstrip("`").removeprefix(".")
    value = (values or {}).get(entry, "")
    return NoAnswer(400, "bad_request", f"{entry + ': ' if entry else ''}{what}", entry=entry, value=value[:1000])
