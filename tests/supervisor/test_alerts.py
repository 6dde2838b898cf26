"""Alerts: what is the matter with a crawl, and that a webhook hears of it, each time once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from gossamer.config import ConfigError, load
from gossamer.settings import AlertsSettings
from gossamer.supervisor.alerts import Moment, alarms
from tests.crawl.command import gossamer, quick_settings

SETTINGS = AlertsSettings(stalled_s=600, errors_share=0.5, disk_free_bytes_min=1000)
THEN = Moment(at=0.0, pages=100, troubles=10, answers=110, is_waiting=False, disk_free_bytes=5000)
NOW = Moment(at=300.0, pages=150, troubles=20, answers=170, is_waiting=False, disk_free_bytes=5000)


@pytest.mark.parametrize(
    ("changes", "quiet_since", "found"),
    [
        ({}, 300.0, set()),
        ({}, -300.0, {"stalled"}),
        ({"is_waiting": True}, -300.0, set()),
        ({"troubles": 59}, 300.0, set()),  # 49 of 99
        ({"troubles": 60}, 300.0, {"errors_rising"}),
        ({"pages": 100, "troubles": 59}, 300.0, set()),  # too few to tell
        ({"disk_free_bytes": 999}, 300.0, {"disk_low"}),
    ],
)
def test_what_is_the_matter(changes: dict[str, int], quiet_since: float, found: set[str]) -> None:
    now = Moment(**{**{name: getattr(NOW, name) for name in NOW.__dataclass_fields__}, **changes})
    assert alarms(THEN, now, quiet_since, SETTINGS).keys() == found


class Site(BaseHTTPRequestHandler):
    """Pages that are not there, one that is slow, and the webhook."""

    heard: list[dict[str, object]]
    is_stalled: threading.Event

    def do_GET(self) -> None:
        if self.path == "/slow":
            assert self.is_stalled.wait(50)
        self.answer(404)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append({"path": self.path, **message})
        if message["event"] == "stalled":
            self.is_stalled.set()
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[tuple[str, list[dict[str, object]]]]:
    heard: list[dict[str, object]] = []
    kind = type("Here", (Site,), {"heard": heard, "is_stalled": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_webhook_hears_of_errors_a_stall_a_low_disk_and_the_end(
    folder: Path, site: tuple[str, list[dict[str, object]]]
) -> None:
    url, heard = site
    seeds, hook = folder / "seeds.txt", folder / "hook"
    seeds.write_text("".join(f"{url}/{number}\n" for number in range(55)) + f"{url}/slow\n")
    hook.write_text(f"{url}/hook?mystery\n")
    settings = quick_settings(
        politeness__delay_s=0,
        politeness__latency_factor=0,
        fetch__timeout_s=60,
        fetch__first_byte_timeout_s=60,
        crawl__partitions=1,
        alerts__webhook=hook,
        alerts__stalled_s=1,
        alerts__disk_free_bytes_min="1024GiB",
    )
    ran = await gossamer(
        "crawl", "--file", seeds, "--dir", folder / "crawl", "--allow-private", "--workers", 1, *settings
    )
    assert "mystery" not in ran.err + ran.out + (folder / "crawl" / "gossamer.toml").read_text()
    begun = [str(message["event"]) for message in heard if not message["is_over"]]
    assert sorted(begun) == ["disk_low", "errors_rising", "stalled", "stopped"], ran.err
    assert begun[-1] == "stopped" and {message["path"] for message in heard} == {"/hook?mystery"}
    assert ("stalled", True) in [(message["event"], message["is_over"]) for message in heard]
    assert heard[-1]["crawl"] == str((folder / "crawl").resolve()) and heard[-1]["failed"] == 56


async def test_an_alert_that_cannot_be_delivered_is_said_and_holds_up_nothing(folder: Path) -> None:
    settings = quick_settings(alerts__webhook="http://127.0.0.1:9/mystery", crawl__partitions=1, fetch__timeout_s=1)
    arguments = ("--dir", folder / "crawl", "--allow-private", "--workers", 1, "--max-time", "1", *settings)
    ran = await gossamer("crawl", "http://127.0.0.1:9/", *arguments)
    assert "an alert could not be delivered to 127.0.0.1" in ran.err and "mystery" not in ran.err


def test_a_webhook_is_an_address_or_a_file_that_holds_one(folder: Path) -> None:
    (folder / "empty").write_text("none")
    for wrong in ("ftp://a.test/", "missing", str(folder / "empty")):
        with pytest.raises(ConfigError, match=r"alerts\.webhook"):
            load(flags={"alerts.webhook": wrong}, environment={})
    assert msgspec.structs.asdict(load(environment={}).tree.alerts)["webhook"] == ""
