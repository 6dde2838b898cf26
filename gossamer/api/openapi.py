"""The OpenAPI document: made from the table of routes and the types of their functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer import __version__
from gossamer.api import shapes
from gossamer.api.route import JSON, Route

PROBLEM = "application/problem+json"
REFS = "#/components/schemas/{name}"
ABOUT = {
    400: "the request makes no sense; `entry` says which part",
    401: "no key, or one that is not known",
    403: "this key may only look, or a page of another server asks",
    404: "there is no such thing here",
    409: "not as the crawl stands now",
    413: "more than serve.body_bytes_max",
    415: "a body that is not JSON",
    429: "too many wrong keys from this address",
    503: "not at the moment",
}


class Document(msgspec.Struct, rename={"document": "openapi"}):
    """OpenAPI 3.1; its own shape is not described here."""

    document: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, list[str]]]


def document(routes: Sequence[Route], *, needs_key: bool) -> Document:
    kinds = [kind for route in routes for kind in (*route.answers, route.body, route.query) if kind is not None]
    kinds = list(dict.fromkeys([*kinds, shapes.Problem]))
    references, components = msgspec.json.schema_components(kinds, ref_template=REFS)
    schemas = dict(zip(kinds, references, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operation(route, schemas, components)
    for kind in {route.query for route in routes if route.query is not None}:
        del components[kind.__name__]  # they stand with the routes, as parameters
    schemes = {
        "key": {"type": "http", "scheme": "bearer", "description": "made by `gossamer keys`"},
    }
    return Document(
        "3.1.0",
        {
            "title": "Gossamer control API",
            "version": __version__,
            "description": "Look into a crawl and steer it. Errors are application/problem+json (RFC 9457).",
        },
        paths,
        {"schemas": components, "securitySchemes": schemes},
        [{"key": []}] if needs_key else [],
    )


def operation(route: Route, schemas: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.answer.__name__}",
        "summary": route.says,
        "parameters": [path_parameter(part) for part in route.parts],
        "responses": {str(route.status): {"description": route.says, "content": content(route, schemas)}},
    }
    if text := (route.answer.__doc__ or "").strip():
        described["description"] = " ".join(text.split())
    if route.query is not None:
        described["parameters"] += query_parameters(components[route.query.__name__])
    if route.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas[route.body]}}}
    problem = {"content": {PROBLEM: {"schema": schemas[shapes.Problem]}}}
    described["responses"] |= {str(status): {"description": ABOUT[status], **problem} for status in errors(route)}
    if route.scope is None:
        described["security"] = []
    else:
        described["x-scope"] = route.scope
    return described


def errors(route: Route) -> list[int]:
    """Those that it declares, and those that follow from what it takes."""
    found = set(route.errors)
    if route.scope is not None:
        found |= {401, 403, 429}
    if route.query is not None:
        found |= {400}
    if route.body is not None or route.method != "GET":
        found |= {400, 403, 413, 415}
    return sorted(found | {503})


def content(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    answers = [schemas[kind] for kind in route.answers]
    if not answers:
        return {route.media_type: {"schema": {"type": "string"}}}
    return {JSON: {"schema": answers[0] if len(answers) == 1 else {"anyOf": answers}}}


def path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    parameters = []
    for name, kind in schema["properties"].items():
        # A parameter is there or not there; it is never null.
        others = [one for one in kind.get("anyOf", ()) if one != {"type": "null"}]
        plain = dict(others[0]) if len(others) == 1 else dict(kind)
        described = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        if text := plain.pop("description", kind.get("description")):
            described["description"] = text
        parameters.append(described | {"schema": plain})
    return parameters


def table(routes: Sequence[Route]) -> str:
    """The table in docs/operations.md."""
    rows = ["| route | needs | what it does |", "|---|---|---|"]
    for route in routes:
        rows.append(f"| `{route.method} {route.path}` | {route.scope or 'nothing'} | {route.says} |")
    return "\n".join(rows)
