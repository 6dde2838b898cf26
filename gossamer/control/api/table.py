"""The table of routes: all that the server answers, and the only place that says so."""

from __future__ import annotations

from gossamer.control.api import events, front, hosts, pages, sessions, standing, steering
from gossamer.control.api.openapi import openapi
from gossamer.control.api.route import Route
from gossamer.control.metrics import metrics

API = "/api/v1"

ROUTES = (
    Route("GET", f"{API}/status", standing.status, "How the crawl stands: counters, rates, caches, disk, workers"),
    Route("GET", f"{API}/history", standing.history, "The crawl over time, for pictures"),
    Route("GET", f"{API}/reasons", standing.reasons, "Every reason, and what it means"),
    Route(
        *("GET", f"{API}/pages", pages.pages, "The record of one URL, or a list of records by filters"),
        errors=(404,),
    ),
    Route(
        *("GET", f"{API}/pages/content", pages.content, "The stored body of a page, as the archive has it"),
        errors=(404,),
        media_type="*/*",
    ),
    Route("GET", f"{API}/why", pages.why, "The state of any URL, and the reason"),
    Route("GET", f"{API}/hosts", hosts.hosts, "Hosts in any order, with their delay and why"),
    Route(
        *("GET", f"{API}/hosts/{{host}}", hosts.host, "One host: queue, delay and why, errors, robots.txt"),
        errors=(404,),
    ),
    Route("GET", f"{API}/domains", hosts.domains, "Domains, their hosts added up"),
    Route(
        *("GET", f"{API}/domains/{{domain}}/policy", hosts.get_policy, "What was set for a domain or a host"),
        errors=(404,),
    ),
    Route(
        *("PUT", f"{API}/domains/{{domain}}/policy", hosts.put_policy, "Replace what is set for a domain or a host"),
        scope="control",
        errors=(404,),
    ),
    Route(
        *("POST", f"{API}/seeds", steering.add_seeds, "Add URLs to start from"),
        scope="control",
        status=201,
        errors=(503,),
    ),
    Route(
        *("POST", f"{API}/pause", steering.pause, "Ask for nothing more until resumed"),
        scope="control",
        errors=(409, 503),
    ),
    Route("POST", f"{API}/resume", steering.resume, "Go on after a pause", scope="control", errors=(409, 503)),
    Route(
        *("POST", f"{API}/drain", steering.drain, "Finish what is in flight, then end the crawl"),
        scope="control",
        errors=(503,),
    ),
    Route("GET", f"{API}/quarantine", steering.quarantine, "URLs that killed their workers"),
    Route(
        *("POST", f"{API}/quarantine/release", steering.release, "Try a URL again that was in quarantine"),
        scope="control",
        errors=(404, 503),
    ),
    Route(
        *("POST", f"{API}/quarantine/drop", steering.drop, "Never ask for a URL again that was in quarantine"),
        scope="control",
        errors=(404, 503),
    ),
    Route(
        *("GET", f"{API}/events", events.events, "What happens now, as server-sent events"),
        errors=(503,),
        media_type="text/event-stream",
    ),
    Route("GET", f"{API}/exports", standing.exports, "What was handed on so far, and where each export goes on"),
    Route("GET", f"{API}/me", sessions.me, "Who is asking, and what they may do"),
    Route(
        *("POST", f"{API}/login", sessions.login, "Show a key, and get a cookie for the day"),
        scope=None,
        errors=(401, 429),
    ),
    Route("POST", f"{API}/logout", sessions.logout, "Give the cookie back"),
    Route("GET", f"{API}/openapi.json", openapi, "This document"),
    Route("GET", "/metrics", metrics, "Figures for Prometheus", media_type="text/plain"),
    Route("GET", "/health", front.health, "The process lives", scope=None),
    Route("GET", "/ready", front.ready, "The crawl's folder can be read", scope=None, errors=(503,)),
    Route("GET", "/docs", front.docs, "These routes, to be tried out", media_type="text/html"),
    Route("GET", "/docs/{file}", front.docs_file, "A file of the docs", errors=(404,), media_type="*/*"),
    Route("GET", "/", front.dashboard, "The dashboard", media_type="text/html"),
    Route("GET", "/static/{file}", front.static, "A file of the dashboard", errors=(404,), media_type="*/*"),
)
