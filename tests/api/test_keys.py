"""Who may ask: keys and their scopes, a browser's session, wrong keys, addresses that others can reach, TLS."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path

import pytest
import requests

from gossamer.access.keys import Keys, digest
from gossamer.api.server import bound, check
from gossamer.cli import run
from gossamer.config import ConfigError, UsageError
from gossamer.folder import FolderError
from gossamer.settings import ServeSettings
from tests.api.serving import Api, empty_crawl, served
from tests.fetch.certificates import Authority

SECRET = "not-the-key-but-secret"
PATHS = (
    *("/", "/docs", "/docs/docs.js", "/static/app.js", "/metrics", "/nothing"),
    *("/api/v1/status", "/api/v1/openapi.json", "/api/v1/events", "/api/v1/me", "/api/v1/pages?url=x"),
)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_crawl(tmp_path_factory.mktemp("keys") / "crawl")


@pytest.fixture(scope="module")
def keys(crawl: Path) -> dict[str, str]:
    keys = Keys(crawl)
    return {scope: keys.add(scope, scope) for scope in ("read", "control")}


@pytest.fixture(scope="module")
def open_to_others(crawl: Path, keys: dict[str, str]) -> Iterator[Api]:
    """Bound to an address that others can reach, and asked from here."""
    assert keys
    with served(
        crawl, "--host", "0.0.0.0", "--set", "serve.failures_a_minute=5", secrets=[SECRET, *keys.values()]
    ) as api:
        yield api


def with_key(api: Api, key: str) -> Api:
    return Api(api.url, key)


# ---- the verb ------------------------------------------------------------------------------------------------


def test_a_key_is_shown_once_and_kept_as_a_hash_that_only_its_owner_can_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = empty_crawl(folder / "crawl")
    assert run(["keys", str(path), "--add", "anna", "--scope", "control"]) == 0
    key = capsys.readouterr().out.strip()
    assert re.fullmatch(r"gossamer_[\w-]{43}", key)
    file = path / "keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert key not in file.read_text() and digest(key) in file.read_text()
    assert run(["keys", str(path)]) == 0 and run(["config", str(path)]) == 0
    said = capsys.readouterr().out
    assert re.match(r"anna +control +20\d\d-", said) and key not in said
    keys = Keys(path)
    assert keys.find(key) == "anna" and keys.find(key + "x") is None and keys.find("") is None


def test_a_key_that_is_removed_is_gone_and_names_are_told_apart(folder: Path) -> None:
    keys, watching = Keys(folder), Keys(folder)
    first, second = keys.add("a", "read"), keys.add("b", "read")
    assert (watching.find(first), watching.find(second)) == ("a", "b")
    with pytest.raises(UsageError, match="already"):
        keys.add("a", "control")
    keys.remove("a")
    assert (watching.find(first), watching.find(second)) == (None, "b")
    with pytest.raises(UsageError, match="no key named a"):
        keys.remove("a")


def test_a_damaged_file_of_keys_lets_nobody_in(folder: Path) -> None:
    Keys(folder).add("a", "read")
    (folder / "keys.json").write_text("{")
    with pytest.raises(FolderError, match="damaged"):
        Keys(folder).all()


# ---- asking --------------------------------------------------------------------------------------------------


def test_without_a_key_nothing_but_health_answers(open_to_others: Api) -> None:
    url = open_to_others.url
    for path in PATHS:
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
            answer = requests.request(method, url + path, timeout=10)
            assert answer.status_code == 401 and "WWW-Authenticate" in answer.headers, (method, path)
            assert "crawl/" not in answer.text and "pages" not in answer.text
    assert requests.get(f"{url}/health", timeout=10).json() == {"status": "ok"}
    assert requests.get(f"{url}/ready", timeout=10).json()["status"] == "ready"


def test_a_key_that_may_read_cannot_steer(open_to_others: Api, keys: dict[str, str]) -> None:
    reader, steerer = with_key(open_to_others, keys["read"]), with_key(open_to_others, keys["control"])
    assert reader.get("/me") == {"needs_key": True, "name": "read", "scope": "read", "can_control": False}
    assert reader.get("/status")["state"] == "complete"
    for method, path, body in (
        ("POST", "/seeds", {"urls": ["http://a.test/"]}),
        ("POST", "/pause", None),
        ("PUT", "/domains/a.test/policy", {"blocked": True}),
        ("POST", "/quarantine/drop", {"url": "http://a.test/"}),
    ):
        answer = reader.tell(method, path, body)
        assert (answer.status_code, answer.json()["reason"]) == (403, "needs_control")
    assert steerer.tell("PUT", "/domains/a.test/policy", {"blocked": True}).ok
    assert steerer.tell("PUT", "/domains/a.test/policy", {}).ok


def test_a_browser_shows_its_key_once(open_to_others: Api, keys: dict[str, str]) -> None:
    browser = Api(open_to_others.url)
    page = browser.ask("GET", "/", headers={"Accept": "text/html"})
    assert page.status_code == 401 and "<form" in page.text and "src=" not in page.text
    assert "style-src 'sha256-" in page.headers["Content-Security-Policy"]
    assert browser.ask("POST", "/login", data={"key": "wrong"}, headers={"Accept": "text/html"}).status_code == 401
    # So does a browser send a form of a page that has no referrer.
    own = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    entered = browser.ask("POST", "/login", data={"key": keys["control"]}, headers=own)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/")
    cookie = entered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and keys["control"] not in cookie
    assert browser.get("/me")["name"] == "control"
    # The cookie goes along with whatever the browser sends, so what changes something has to come from our own pages.
    assert browser.ask("POST", "/drain", headers={"Origin": "https://evil.test"}).status_code == 403
    assert browser.ask("POST", "/drain", headers={"Origin": browser.url}).status_code == 200
    assert browser.tell("POST", "/logout").json()["name"] == "control"
    assert browser.ask("GET", "/me").status_code == 401
    assert browser.tell("POST", "/login", {"key": keys["read"]}).json()["can_control"] is False
    assert browser.get("/me")["scope"] == "read"


def test_a_key_can_be_removed_while_it_is_in_use(open_to_others: Api, crawl: Path) -> None:
    key = Keys(crawl).add("guest", "read")
    api, browser = with_key(open_to_others, key), Api(open_to_others.url)
    assert api.ask("GET", "/me").ok and browser.tell("POST", "/login", {"key": key}).ok and browser.get("/me")
    Keys(crawl).remove("guest")
    assert browser.ask("GET", "/me").status_code == 401
    assert api.ask("GET", "/me").status_code == 401


def test_wrong_keys_are_counted_for_each_address_and_no_key_is_ever_told(
    open_to_others: Api, keys: dict[str, str]
) -> None:
    cookie = ask_from("127.0.0.7", open_to_others, "/api/v1/login", key=keys["read"])[1]["Set-Cookie"]
    answers = [ask_from("127.0.0.7", open_to_others, "/api/v1/status", bearer=f"{SECRET}-{i}") for i in range(7)]
    assert [status for status, _, _ in answers] == [401] * 5 + [429] * 2
    assert 0 < int(answers[-1][1]["Retry-After"]) <= 60
    assert not any(SECRET in text for _, _, text in answers)
    # The right key has to wait too; whoever is in already stays in, and others are not held up.
    assert ask_from("127.0.0.7", open_to_others, "/api/v1/status", bearer=keys["read"])[0] == 429
    assert ask_from("127.0.0.7", open_to_others, "/api/v1/login", key=keys["read"])[0] == 429
    assert ask_from("127.0.0.7", open_to_others, "/api/v1/status", cookie=cookie)[0] == 200
    assert with_key(open_to_others, keys["read"]).ask("GET", "/status").status_code == 200


def ask_from(
    address: str, api: Api, path: str, *, bearer: str = "", cookie: str = "", key: str = ""
) -> tuple[int, Message, str]:
    """From another address of this machine."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    connection = HTTPConnection(host, int(port), timeout=10, source_address=(address, 0))
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {"Cookie": cookie} if cookie else {}
    with closing(connection):
        if key:
            body, headers = json.dumps({"key": key}), {"Content-Type": "application/json"}
            connection.request("POST", path, body, headers)
        else:
            connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


# ---- where it listens ----------------------------------------------------------------------------------------


def test_an_address_that_others_can_reach_needs_a_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = empty_crawl(folder / "crawl")
    assert run(["serve", str(path), "--host", "0.0.0.0"]) == 2
    said = capsys.readouterr().err
    assert "there is no key" in said and "gossamer keys" in said and "Traceback" not in said


def test_what_cannot_work_is_said_before_it_listens(folder: Path) -> None:
    keys = Keys(folder)
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="no key"):
            check(ServeSettings(host=host), keys)
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        check(ServeSettings(host=host), keys)
    with pytest.raises(ConfigError, match="belong together"):
        check(ServeSettings(certificate_file="x.pem"), keys)
    with pytest.raises(ConfigError, match="cannot be used"):
        check(ServeSettings(certificate_file="x.pem", key_file="y.pem"), keys)
    with bound(ServeSettings(port=0), may_move=False) as taken, pytest.raises(FolderError, match="choose another"):
        bound(ServeSettings(port=taken.getsockname()[1]), may_move=False)


def test_with_certificate_files_it_speaks_tls(crawl: Path, keys: dict[str, str], folder: Path) -> None:
    authority = Authority()
    authority.issue("127.0.0.1").save(folder)
    (folder / "root.pem").write_bytes(authority.pem)
    files = [
        "--set",
        f"serve.certificate_file={folder / 'chain.pem'}",
        "--set",
        f"serve.key_file={folder / 'key.pem'}",
    ]
    with served(crawl, *files, key=keys["read"], verify=str(folder / "root.pem")) as api:
        assert api.url.startswith("https://") and api.get("/status")["state"] == "complete"
        assert "Secure" in api.tell("POST", "/login", {"key": keys["read"]}).headers["Set-Cookie"]
