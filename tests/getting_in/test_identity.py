"""Web Bot Auth: signed requests, checked by a verifier that is not our code."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode
from pathlib import Path

import http_sf
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)

from tests.crawl.command import gossamer, quick_settings
from tests.fetch.raw_server import raw_server
from tests.getting_in.pages import answers, header_of, html, path_of

URL = "https://bot.example.org"


class Directory(HTTPSignatureKeyResolver):
    """The keys of the document that is to be published."""

    def __init__(self, document: str) -> None:
        self.keys = {key["kid"]: key for key in json.loads(document)["keys"]}

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        key = self.keys[key_id]
        assert (key["kty"], key["crv"]) == ("OKP", "Ed25519")
        return Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(key["x"] + "="))


class Received:
    """A request as the server of `authority` has it, in the shape that the verifier reads."""

    def __init__(self, request: bytes, authority: str) -> None:
        self.method = "GET"
        self.url = f"http://{authority}{path_of(request)}"
        names = ("Signature", "Signature-Input", "Signature-Agent")
        self.headers = {name: header_of(request, name) or "" for name in names}


def verified(request: bytes, document: str, authority: str) -> str:
    """The number used once of a good signature."""
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Directory(document))
    [result] = verifier.verify(Received(request, authority), expect_tag="web-bot-auth")
    assert set(result.covered_components) >= {'"@authority"', '"signature-agent"'}
    assert 0 < int(result.parameters["expires"]) - time.time() <= 300
    return str(result.parameters["nonce"])


async def made(file: Path) -> str:
    ran = await gossamer("identity", file, "--url", URL)
    assert ran.code == 0, ran.err
    assert f"{URL}/.well-known/http-message-signatures-directory" in ran.err
    return ran.out


def signing(file: Path) -> tuple[str, ...]:
    return "--set", f"fetch.identity_key={file}", "--set", f"fetch.identity_url={URL}"


async def test_every_request_is_signed_for_its_host_and_nobody_elses(tmp_path: Path) -> None:
    file = tmp_path / "bot.pem"
    document = await made(file)
    assert file.stat().st_mode & 0o077 == 0
    assert await made(file) == document  # the same key, once more
    async with raw_server(also=["127.0.0.2"]) as server:
        other = f"127.0.0.2:{server.port}"
        links = f'<a href="/a">a</a><a href="http://{other}/b">b</a>'
        answers(server, {"/": html(links), "/a": html("a"), "/b": html("b")})
        where = tmp_path / "crawl"
        flags = ("--allow-private", "--scope", "any", *signing(file), *quick_settings())
        ran = await gossamer("crawl", server.url("/"), "--dir", where, *flags)
        tried = await gossamer("fetch", server.url("/a"), "--allow-private", "--delay", "0", *signing(file))
    assert ran.code == 0 and tried.code == 0, ran.err + tried.err
    here = server.url("/").split("/")[2]
    assert {path_of(request) for request in server.requests} == {"/robots.txt", "/", "/a", "/b"}
    numbers = set()
    for request in server.requests:
        authority = header_of(request, "Host") or ""
        numbers.add(verified(request, document, authority))
        agent = http_sf.parse((header_of(request, "Signature-Agent") or "").encode(), tltype="item")
        assert isinstance(agent, tuple) and agent[0] == URL
        with pytest.raises(InvalidSignature):
            verified(request, document, other if authority == here else here)
    assert len(numbers) == len(server.requests)
    key = "".join(file.read_text().splitlines()[1:-1])
    stored = b"".join(path.read_bytes() for path in where.rglob("*") if path.is_file())
    assert key.encode() not in stored and str(file).encode() in stored


@pytest.mark.parametrize(
    ("content", "url", "said"),
    [
        (None, URL, "`gossamer identity` makes one"),
        ("no key", URL, "is no private key in PEM"),
        ("", "http://bot.example.org", "wanted an https origin of yours"),
        ("", "", "wanted an https origin of yours"),
    ],
)
async def test_a_mistake_stops_the_start(tmp_path: Path, content: str | None, url: str, said: str) -> None:
    file = tmp_path / "bot.pem"
    if content == "":
        await made(file)
    elif content is not None:
        file.write_text(content)
    flags = ("--set", f"fetch.identity_key={file}", "--set", f"fetch.identity_url={url}")
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", tmp_path / "crawl", *flags)
    assert ran.code == 2 and said in ran.err
    assert not (tmp_path / "crawl").exists()
