"""The control API of a crawl under way: everything that can be asked and told.

Longer than 400 lines: all routes are asked in one crawl, because starting one takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from gossamer.api.routes.metrics import METRICS
from gossamer.api.routes.node_metrics import NODE_METRICS
from gossamer.export.positions import Export, note
from gossamer.records import Place, Reason
from gossamer.text import EXPLAINED
from tests.api.serving import Api, Stage, crawling, empty_crawl, served, until
from tests.api.test_metrics import parsed
from tests.crawl.command import ROOT

HOST, OTHER = "127.1.0.1", "127.1.0.2"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with crawling(tmp_path_factory.mktemp("live")) as stage:
        yield stage


@pytest.fixture(scope="module")
def api(stage: Stage) -> Iterator[Api]:
    with served(stage.folder) as api:
        until(lambda: api.ask("GET", "/status").json()["running"])
        yield api


# ---- looking -------------------------------------------------------------------------------------------------


def test_status_says_how_the_crawl_stands_and_moves(api: Api) -> None:
    first = api.get("/status")
    assert first["state"] == "running" and first["running"] and first["version"]
    later = until(lambda: (now := api.get("/status"))["pages"] > first["pages"] and now)
    assert later["pages_per_s"] > 0 and later["bytes_per_s"] > 0 and later["pages_this_run"] == later["pages"]
    assert later["urls_known"] >= later["pages"] + later["queued"]
    assert later["seen"]["urls"] > 0 and 0 <= later["seen"]["false_positive_rate"] < 0.1
    assert later["memory_bytes"] > 0 and later["disk"]["free_bytes"] > 0 and later["disk"]["state_bytes"] > 0
    assert [worker["state"] for worker in later["workers"]] == ["working"]
    assert later["workers"][0]["partitions"] == [0, 1]
    assert later["robots"]["asked"] > 0 and sum(one["count"] for one in later["answer_times"]) > 0


def test_history_is_a_line_of_points(api: Api) -> None:
    points = until(lambda: len(found := api.get("/history", span_s=600)["points"]) > 1 and found)
    assert [point["pages"] for point in points] == sorted(point["pages"] for point in points)
    assert any(point["pages_per_s"] > 0 for point in points)
    assert api.get("/history")["points"]


def test_metrics_are_in_prometheus_own_format(api: Api) -> None:
    answer = api.ask("GET", "/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = parsed(answer.text)
    assert found["gossamer_up"] == {"": 1} and found["gossamer_pages_total"][""] > 0
    alone = [metric for metric in METRICS if metric not in NODE_METRICS]  # this is no cluster
    assert set(found) >= {metric.name for metric in alone if metric.kind != "histogram" and not metric.labels}


def test_every_reason_is_explained(api: Api) -> None:
    explained = {one["reason"]: one["explained"] for one in api.get("/reasons")["reasons"]}
    assert explained == {str(reason): text for reason, text in EXPLAINED.items()}


def test_a_page_has_its_record_and_its_content(api: Api, stage: Stage) -> None:
    page = until(lambda: (found := api.ask("GET", "/pages", params={"url": stage.seed})).ok and found.json())
    assert page["state"] == "done" and page["status"] == 200 and page["verdict"] == "original"
    assert page["fetched_at"].endswith("Z") and page["next_visit_at"] > page["fetched_at"]
    assert (stage.folder / page["storage_path"]).stat().st_size > page["archive"]["offset"]
    stored = api.ask("GET", "/pages/content", params={"url": stage.seed})
    assert hashlib.sha256(stored.content).hexdigest() == page["content_hash"]
    assert stored.headers["Content-Type"].startswith("text/html")
    # It is somebody else's page, and must not run in ours.
    assert stored.headers["Content-Disposition"] == "attachment"
    assert stored.headers["Content-Security-Policy"].startswith("sandbox")
    assert stored.headers["X-Content-Type-Options"] == "nosniff"


def test_what_was_not_crawled_is_not_found(api: Api) -> None:
    for path in ("/pages", "/pages/content"):
        for url, reason in ((f"http://{HOST}/nowhere", "not_known"), ("mailto:me", "not_a_url")):
            answer = api.ask("GET", path, params={"url": url})
            assert answer.status_code == 404 and answer.json()["reason"] == reason
            assert answer.headers["Content-Type"] == "application/problem+json"
    assert api.ask("GET", "/hosts/nobody.test").status_code == 404


def test_lists_of_pages_come_in_pieces_that_miss_nothing(api: Api) -> None:
    until(lambda: api.get("/status")["pages"] > 20)
    api.tell("POST", "/pause")
    try:
        until(lambda: api.get("/status")["in_flight"] == 0)
        known = api.get("/status")["urls_known"]
        urls = until(lambda: len(found := list(pieces(api, limit=97))) == known and found)
        assert len({page["url"] for page in urls}) == known
        done = list(pieces(api, limit=1000, state="done", host=HOST))
        assert done and {(page["state"], page["status"]) for page in done} == {("done", 200)}
        assert {page["url"].split("/")[2].split(":")[0] for page in done} == {HOST}
        newest = max(page["fetched_at"] for page in done)
        since = list(pieces(api, since=newest, verdict="original"))
        assert since and all(page["fetched_at"] >= newest for page in since)
        assert list(pieces(api, reason="robots")) == []
    finally:
        api.tell("POST", "/resume")


def pieces(api: Api, **parameters: Any) -> Iterator[Any]:
    cursor: dict[str, str] = {}
    while True:
        piece = api.get("/pages", **parameters, **cursor)
        yield from piece["pages"]
        if piece["next_cursor"] is None:
            return
        cursor = {"cursor": piece["next_cursor"]}


def test_what_stands_in_the_folder_is_listed(api: Api, stage: Stage) -> None:
    settings = {one["key"]: one for one in api.get("/settings")["settings"]}
    assert settings["politeness.delay_s"]["value"] == "0.1" and not settings["politeness.delay_s"]["is_default"]
    assert settings["fetch.timeout_s"]["meaning"] and settings["alerts.webhook"]["is_default"]
    first = api.get("/seeds", limit=1)
    assert first["seeds"] == [{"url": stage.seed, "priority": None, "max_depth": None}]
    api.tell("PUT", "/domains/listed.test/policy", {"priority": 0.25})
    listed = [one for one in api.get("/policies")["policies"] if one["domain"] == "listed.test"]
    assert [(one["kind"], one["policy"]["priority"]) for one in listed] == [("site", 0.25)]
    assert len(api.get("/policies", limit=1)["policies"]) == 1
    api.tell("PUT", "/domains/listed.test/policy", {})
    assert api.get("/log") == {"file": None, "lines": []}


def test_the_urls_of_a_host_are_counted_and_what_was_refused_comes_back(api: Api, stage: Stage) -> None:
    until(lambda: api.get(f"/hosts/{OTHER}/urls")["states"].get("done", 0) > 1)
    api.tell("PUT", f"/hosts/{OTHER}/policy", {"blocked": True})
    until(lambda: api.get(f"/hosts/{OTHER}/urls")["states"].get("refused", 0))
    found = api.get(f"/hosts/{OTHER}/urls")
    assert found["is_whole"] and found["looked_at"] == sum(found["states"].values())
    assert {one["reason"] for one in found["reasons"]} == {"blocked"} and found["statuses"]["200"] > 0
    assert sum(step["pages"] for step in found["visits"]) == found["states"]["done"]
    assert api.get(f"/domains/{OTHER}")["hosts"] == 1
    assert "blocked" in {one["reason"] for one in api.get("/status")["decisions"]}
    assert "blocked" not in {one["reason"] for one in api.get("/status")["troubles"]}
    api.tell("PUT", f"/hosts/{OTHER}/policy", {})
    until(lambda: not api.get(f"/hosts/{OTHER}/urls")["states"].get("refused", 0))  # it comes back by itself
    assert api.tell("POST", "/retry", {"reason": "scope"}).json()["entry"] == "reason"


def test_hosts_come_in_any_order(api: Api) -> None:
    until(lambda: len(api.get("/hosts")["hosts"]) == 4)
    by_name = [host["host"] for host in api.get("/hosts")["hosts"]]
    assert by_name == sorted(by_name)
    first = api.get("/hosts", sort="pages", order="desc", limit=2)
    second = api.get("/hosts", sort="pages", order="desc", limit=2, cursor=first["next_cursor"])
    pages = [host["pages"] for host in first["hosts"]]
    assert pages == sorted(pages, reverse=True) and first["next_cursor"]
    assert not {host["host"] for host in first["hosts"]} & {host["host"] for host in second["hosts"]}
    assert [host["host"] for host in api.get("/hosts", filter="0.2")["hosts"]] == [OTHER]
    domains = api.get("/domains", sort="pages", order="desc")["domains"]
    assert len(domains) == 4 and all(domain["hosts"] == 1 for domain in domains)


def test_one_host_with_its_delay_and_its_robots(api: Api) -> None:
    host = api.get(f"/hosts/{HOST}")
    assert host["delay_s"] >= 0.1 and host["delay_reason"] == "configured" and "delay" in host["delay_explained"]
    (robots,) = host["robots"]
    assert robots["origin"].startswith(f"http://{HOST}:") and robots["age_s"] >= 0 and robots["status"] is not None
    assert host["next_urls"] and all(f"//{HOST}:" in url for url in host["next_urls"])


def test_exports_say_where_they_go_on(api: Api, stage: Stage) -> None:
    assert api.get("/exports") == {"exports": []}
    position = {"partition": 1, "file": "001-00000.warc.gz", "offset": 7}
    note(stage.folder, "/somewhere", Export("parquet", [], {1: Place("001-00000.warc.gz", 7, 0)}))
    (export,) = api.get("/exports")["exports"]
    assert export == {"target": "/somewhere", "format": "parquet", "options": [], "positions": [position]}


def test_why_is_answered_for_any_text(api: Api, stage: Stage) -> None:
    seed = until(lambda: (found := api.get("/why", url=stage.seed))["state"] == "done" and found)
    assert "a seed" in seed["story"] and seed["page"]["url"] == stage.seed and seed["host"]["host"] == HOST
    assert api.get("/why", url="what?")["reason"] == "not_a_url"
    never = api.get("/why", url=f"{stage.seed}never")
    assert (never["state"], never["page"]) == ("never seen", None)


# ---- steering ------------------------------------------------------------------------------------------------


def test_seeds_are_added_once_and_what_is_refused_has_a_reason(api: Api, stage: Stage) -> None:
    blocked = "blocked.test"
    assert api.tell("PUT", f"/domains/{blocked}/policy", {"blocked": True}).json()["kind"] == "site"
    new = f"{stage.seed}new?page=1"
    answer = api.tell("POST", "/seeds", {"urls": [new, stage.seed, new, f"http://{blocked}/"], "priority": 1})
    assert answer.status_code == 201
    assert answer.json() == {
        "added": 1,
        "duplicates_skipped": 2,
        "refused": [{"url": f"http://{blocked}/", "reason": "blocked", "explained": EXPLAINED[Reason.BLOCKED]}],
    }
    until(lambda: api.get("/why", url=new)["state"] not in ("never seen", "queued", "in_flight"))


def test_a_seed_that_is_no_url_is_named_and_none_is_added(api: Api, stage: Stage) -> None:
    good = f"{stage.seed}good-but-not-alone"
    answer = api.tell("POST", "/seeds", {"urls": [good, "not a url"]})
    assert answer.status_code == 400
    problem = answer.json()
    assert (problem["entry"], problem["value"], problem["reason"]) == ("urls[1]", "not a url", "not_a_url")
    assert api.get("/why", url=good)["state"] == "never seen"
    for body, entry in (
        ({}, ""),
        ({"urls": []}, "urls"),
        ({"urls": [good, 7]}, "urls[1]"),
        ({"urls": [good], "priority": 2}, "priority"),
        ({"urls": [good], "max_depth": "far"}, "max_depth"),
        ({"urls": [good], "depth": 1}, ""),
    ):
        answer = api.tell("POST", "/seeds", body)
        assert answer.status_code == 400 and answer.json().get("entry", "") == entry, answer.text


def test_a_policy_is_in_force_at_once_and_replaced_as_a_whole(api: Api, stage: Stage) -> None:
    path = "/domains/127.1.0.3/policy"
    until(lambda: stage.asked("127.1.0.3") > 2)
    answer = api.tell("PUT", path, {"paused": True, "crawl_rate": 5, "max_pages": 7.0}).json()
    assert answer["kind"] == "host" and answer["is_set"]
    assert answer["policy"] == answer["in_force"] == api.get(path)["policy"]
    assert answer["policy"]["paused"] and (answer["policy"]["crawl_rate"], answer["policy"]["max_pages"]) == (5, 7)
    free = stage.asked(HOST)
    until(lambda: stage.asked(HOST) > free + 3)
    paused = stage.asked("127.1.0.3")
    until(lambda: stage.asked(HOST) > free + 8)
    assert stage.asked("127.1.0.3") == paused
    assert api.get("/hosts/127.1.0.3")["policy"]["paused"]
    assert [host["host"] for host in api.get("/hosts")["hosts"] if host["policy"]["paused"]] == ["127.1.0.3"]
    answer = api.tell("PUT", path, {}).json()
    assert not answer["is_set"] and answer["policy"] == {
        "crawl_rate": None,
        "max_pages": None,
        "priority": None,
        "paused": False,
        "blocked": False,
        "trusted": False,
        "region": None,
        "render": None,
        "proxy": None,
    }
    until(lambda: stage.asked("127.1.0.3") > paused)


def test_the_calls_of_the_documents_are_taken_as_they_are(api: Api, stage: Stage) -> None:
    new = [f"{stage.seed}asked-for?number={n}" for n in range(2)]
    answer = api.tell("POST", "/seeds", {"urls": new, "priority": "high", "max_depth": 5})
    assert answer.status_code == 201 and (answer.json()["added"], answer.json()["duplicates_skipped"]) == (2, 0)
    page = until(lambda: (found := api.ask("GET", "/pages", params={"url": stage.seed})).status_code == 200 and found)
    page = page.json()
    assert (page["http_status"], page["url_hash"]) == (200, hashlib.sha256(stage.seed.encode()).hexdigest())
    assert page["html_storage_path"].startswith("archive/") and page["content_hash"] and page["fetched_at"]
    assert 0 < page["priority_score"] <= 1 and page["is_duplicate"] is False
    queued = api.get("/pages", state="queued", limit=1)["pages"][0]["url"]
    assert queued.startswith("http://") and api.get("/why", url=queued)["page"]
    not_yet = api.ask("GET", "/pages", params={"url": f"{stage.seed}never-heard-of"})
    assert not_yet.status_code == 404

    answer = api.tell(
        "PUT", "/domains/example.com/policy", {"crawl_rate": 2, "max_pages": 50000, "priority": "medium"}
    )
    assert answer.status_code == 200 and answer.json()["domain"] == "example.com"
    policy = answer.json()["policy"]
    assert (policy["crawl_rate"], policy["max_pages"], policy["priority"]) == (2, 50000, 0.6)
    assert api.tell("PUT", "/domains/example.com/policy", {"priority": "urgent"}).status_code == 400

    status = until(lambda: (now := api.get("/status"))["domains_active"] and now)
    assert status["pages_crawled_today"] > 0 and status["pages_in_queue"] > 0 and status["current_qps"] > 0
    assert 0 <= status["error_rate"] <= 1 and 1 <= status["domains_active"] <= 4

    (domain,) = [one for one in api.get("/domains")["domains"] if one["domain"] == HOST]
    assert domain["page_count"] == domain["pages"] > 0 and domain["last_crawled_at"]
    assert 0.5 <= domain["authority_score"] <= 1  # it starts there, and links raise it
    assert [robots["state"] for robots in domain["robots_txt"]] in (["obeyed"], ["none"])


def test_a_page_that_is_queued_is_not_crawled_yet(api: Api) -> None:
    for page in api.get("/pages", state="queued", limit=20)["pages"][::-1]:
        answer = api.ask("GET", "/pages", params={"url": page["url"]})
        if answer.status_code == 404:  # else its turn has come meanwhile
            assert answer.json()["reason"] == "not_crawled"
            return
    raise AssertionError("all of them were fetched meanwhile")


def test_a_host_with_the_name_of_a_site_has_a_policy_of_its_own(api: Api, stage: Stage) -> None:
    """The dashboard's Block button sends what is sent here; it blocked the whole site."""
    host = api.tell("PUT", "/hosts/shop.test/policy", {"blocked": True}).json()
    assert (host["domain"], host["kind"], host["policy"]["blocked"]) == ("shop.test", "host", True)
    site = api.get("/domains/shop.test/policy")
    assert (site["kind"], site["is_set"]) == ("site", False)
    assert told("policy", stage.folder, "shop.test", "--pause").returncode == 0
    assert told("policy", stage.folder, "shop.test", "--host", "--priority", "low").returncode == 0
    assert api.get("/domains/shop.test/policy")["policy"]["paused"]
    host = api.get("/hosts/shop.test/policy")["policy"]
    assert host["blocked"] and not host["paused"] and host["priority"] == 0.3
    wrong = told("policy", stage.folder, "www.shop.test", "--site", "--pause")
    assert wrong.returncode == 2 and "no site" in wrong.stderr
    for path in ("/hosts/shop.test/policy", "/domains/shop.test/policy"):
        api.tell("PUT", path, {})


def told(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_the_speed_of_the_whole_crawl_is_set(api: Api) -> None:
    assert api.get("/limits") == {"requests_per_s": None, "bytes_per_s": None}
    assert api.tell("PUT", "/limits", {"bytes_per_s": -1}).status_code == 400
    assert api.tell("PUT", "/limits", {"requests_per_s": 500}).status_code == 200
    assert api.get("/limits") == {"requests_per_s": 500, "bytes_per_s": None}
    assert api.tell("PUT", "/limits", {}).status_code == 200
    assert api.get("/limits")["requests_per_s"] is None


def test_a_hosts_policy_goes_before_that_of_its_site(api: Api) -> None:
    site = api.tell("PUT", "/domains/Example.ORG/policy", {"crawl_rate": 2, "priority": 0.5}).json()
    assert (site["domain"], site["kind"]) == ("example.org", "site")
    host = api.tell("PUT", "/domains/www.example.org/policy", {"crawl_rate": 4}).json()
    assert host["kind"] == "host" and host["policy"]["priority"] is None
    assert (host["in_force"]["crawl_rate"], host["in_force"]["priority"]) == (4, 0.5)
    assert api.tell("PUT", "/domains/a b/policy", {}).status_code == 404
    assert api.tell("PUT", "/domains/example.org/policy", {"crawl_rate": 0}).status_code == 400


def test_a_crawl_is_paused_and_goes_on(api: Api) -> None:
    assert api.tell("POST", "/pause").json() == {"state": "paused"}
    status = api.get("/status")
    assert (status["state"], bool(status["paused_why"])) == ("paused", True)
    assert "gossamer_paused 1\n" in api.ask("GET", "/metrics").text
    assert api.tell("POST", "/resume").json() == {"state": "running"}


def test_the_quarantine_is_empty_and_gives_nothing_out(api: Api, stage: Stage) -> None:
    assert api.get("/quarantine") == {"pages": [], "next_cursor": None}
    for path in ("/quarantine/release", "/quarantine/drop"):
        answer = api.tell("POST", path, {"url": stage.seed})
        assert (answer.status_code, answer.json()["reason"]) == (404, "not_quarantined")


# ---- events --------------------------------------------------------------------------------------------------


def test_events_come_with_names_and_numbers_and_go_on_where_they_were_left(api: Api) -> None:
    first = list(read_events(api, 5))
    assert {name for _, name, _ in first} <= {"page", "redirect", "failure", "refusal", "said", "state", "left_out"}
    numbers = [number for number, _, _ in first]
    assert numbers == sorted(set(numbers))
    pages = [data for _, name, data in first if name == "page"]
    assert pages and pages[0]["status"] == 200 and pages[0]["url"].startswith("http://") and pages[0]["took_s"] >= 0
    ((number, _, _),) = read_events(api, 1, since=numbers[2])
    assert number > numbers[2]


def read_events(api: Api, most: int, since: int | None = None) -> Iterator[tuple[int, str, Any]]:
    headers = {"Last-Event-ID": str(since)} if since is not None else {}
    with api.ask("GET", "/events", headers=headers, stream=True) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in map(bytes.decode, answer.iter_lines()):
            name, _, value = line.partition(": ")
            fields[name] = value
            if not line and "id" in fields:
                yield int(fields["id"]), fields["event"], json.loads(fields["data"])
                fields = {}
                most -= 1
                if not most:
                    return


# ---- manners -------------------------------------------------------------------------------------------------


def test_http_is_spoken_properly(api: Api) -> None:
    head = api.ask("HEAD", "/status")
    assert (head.status_code, head.text) == (200, "") and int(head.headers["Content-Length"]) > 100
    assert api.ask("HEAD", "/events").status_code == 200
    options = api.ask("OPTIONS", "/status")
    assert (options.status_code, options.headers["Allow"]) == (204, "GET, HEAD, OPTIONS")
    wrong = api.ask("DELETE", "/seeds")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    assert api.ask("GET", "/nothing").status_code == 404
    assert api.ask("POST", "/seeds", data="urls=x").status_code == 415
    assert (
        api.ask("POST", "/seeds", data="{", headers={"Content-Type": "application/json"}).json()["reason"]
        == "not_json"
    )
    assert api.ask("POST", "/seeds", json={"urls": ["x" * (4 << 20)]}).status_code == 413
    for parameters in ({"limit": 0}, {"limit": "many"}, {"state": "lost"}, {"nonsense": 1}, {"limit": [1, 2]}):
        assert api.ask("GET", "/pages", params=parameters).status_code == 400, parameters
    assert api.ask("GET", "/pages", params={"since": "yesterday"}).json()["entry"] == "since"


def test_a_long_body_is_refused_before_it_has_come(api: Api) -> None:
    host, _, port = api.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(
            b"POST /api/v1/seeds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999\r\n\r\n"
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_foreign_web_page_can_neither_look_nor_steer(api: Api) -> None:
    rebound = api.ask("GET", "/status", headers={"Host": "evil.test"})
    assert (rebound.status_code, rebound.json()["reason"]) == (403, "foreign_host")
    for headers in (
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://localhost:9"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = api.ask("POST", "/pause", headers=headers)
        assert (answer.status_code, answer.json()["reason"]) == (403, "foreign_origin"), headers
    assert api.ask("POST", "/resume", headers={"Origin": api.url, "Sec-Fetch-Site": "same-origin"}).ok
    assert (
        "Access-Control-Allow-Origin" not in api.ask("GET", "/status", headers={"Origin": "http://evil.test"}).headers
    )
    answer = api.ask("GET", "/status")
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"


def test_the_pages_of_the_server_need_nothing_from_elsewhere(api: Api) -> None:
    for path in ("/", "/docs", "/docs/docs.js"):
        page = api.ask("GET", path)
        assert page.status_code == 200, path
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert "'unsafe" not in page.headers["Content-Security-Policy"]
    for path in ("/static/../api/app.py", "/static/..%2fkeys.py", "/static/%2e%2e/keys.py", "/docs/../app.py"):
        assert requests.get(api.url + path, timeout=10).status_code == 404
    document = api.get("/openapi.json")
    assert document["openapi"] == "3.1.0" and "/api/v1/seeds" in document["paths"]


# ---- a crawl comes and goes ----------------------------------------------------------------------------------


def test_a_crawl_may_start_and_be_killed_while_its_folder_is_served(folder: Path) -> None:
    with served(empty_crawl(folder / "crawl")) as api:
        assert api.get("/status")["state"] == "complete"
        with crawling(folder, "--serve", "127.0.0.1:0") as stage:
            until(lambda: api.get("/status")["running"] and api.get("/status")["pages"] > 5)
            beside = Api(until(lambda: address_said(stage)))
            assert beside.get("/status")["running"]
            os.kill(stage.crawl.pid, signal.SIGKILL)
            status = until(lambda: not (now := api.get("/status"))["running"] and now)
            until(lambda: is_gone(beside))  # a server that a crawl has started ends with it
        assert status["state"] == "stopped" and status["pages"] > 5 and status["workers"] == []
        assert "gossamer_up 0\n" in api.ask("GET", "/metrics").text
        assert api.get("/pages", url=stage.seed)["status"] == 200
        assert api.tell("POST", "/pause").json()["reason"] == "not_running"
        assert api.tell("POST", "/drain").json() == {"state": "stopped"}
        new = f"{stage.seed}later"
        assert api.tell("POST", "/seeds", {"urls": [new, stage.seed]}).json()["added"] == 1
        assert new in (stage.folder / "seeds.txt").read_text()


def address_said(stage: Stage) -> str | None:
    assert stage.crawl.stderr is not None
    line = stage.crawl.stderr.readline()
    return line.split()[-1] if "serving" in line else None


def is_gone(api: Api) -> bool:
    try:
        api.ask("GET", "/health")
    except requests.ConnectionError:
        return True
    return False
