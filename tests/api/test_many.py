"""One server for several crawls: each keeps its own API below its name, and keys are those of the folder."""

from __future__ import annotations

from pathlib import Path

from gossamer.access.keys import Keys
from tests.api.serving import Api, empty_crawl, running


def test_several_crawls_are_served_by_one_server_and_guarded_by_one_set_of_keys(folder: Path) -> None:
    for name in ("one", "two"):
        empty_crawl(folder / name)
    (folder / "no-crawl").mkdir()
    with running("serve", folder, "--port", 0) as server:
        assert server.stdout is not None
        api = Api(server.stdout.readline().split()[-1])
        listed = api.get("/crawls")["crawls"]
        assert [(crawl["name"], crawl["state"]) for crawl in listed] == [("one", "complete"), ("two", "complete")]
        below = Api(f"{api.url}/crawls/two")
        status = below.get("/status")
        assert status["dir"] == str(folder / "two") and not status["running"]
        assert below.ask("GET", "/").text == api.ask("GET", "/static/index.html").text
        new = "http://127.0.0.1:8000/new"
        assert below.tell("POST", "/seeds", {"urls": [new]}).json()["added"] == 1
        assert new in (folder / "two" / "seeds.txt").read_text()
        assert below.tell("POST", "/seeds", {"urls": 5}).status_code == 400
        assert Api(f"{api.url}/crawls/three").ask("GET", "/status").status_code == 404
        assert api.tell("POST", "/crawls/two/stop").json()["reason"] == "not_running"
        assert (
            below.ask("POST", "/pause", headers={"Origin": "http://evil.test"}).json()["reason"] == "foreign_origin"
        )

        # A crawl with keys is not shown to whoever comes; a key of the folder is good for all of them.
        Keys(folder / "two").add("own", "read")
        assert below.ask("GET", "/status").json()["reason"] == "needs_key"
        look, steer = Keys(folder).add("look", "read"), Keys(folder).add("steer", "control")
        assert below.ask("GET", "/status").status_code == 401
        assert Api(below.url, look).get("/status")["dir"] == str(folder / "two")
        assert Api(below.url, look).get("/me")["can_control"] is False
        assert Api(below.url, look).tell("POST", "/seeds", {"urls": [new]}).status_code == 403
        assert Api(below.url, steer).tell("POST", "/pause").json()["reason"] == "not_running"
