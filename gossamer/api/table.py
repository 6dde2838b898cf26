"""The table of routes: all that the server answers, and the only place that says so."""

from __future__ import annotations

from gossamer.api.context import Context
from gossamer.api.openapi import Document, document
from gossamer.api.route import Route
from gossamer.api.routes import (
    actions,
    events,
    fetchers,
    folder,
    history,
    hosts,
    nodes,
    pages,
    policies,
    sessions,
    static_files,
    status,
)
from gossamer.api.routes.metrics import metrics

API = "/api/v1"


async def openapi(context: Context) -> Document:
    return document(ROUTES, needs_key=context.guard.needs_key)


ROUTES = (
    Route("GET", f"{API}/status", status.status, "How the crawl stands: counters, rates, caches, disk, workers"),
    Route(
        *("GET", f"{API}/nodes", nodes.nodes, "The nodes of a cluster and its partitions: owners, lag, restores"),
        errors=(404,),
    ),
    Route("GET", f"{API}/history", history.history, "The crawl over time, for pictures"),
    Route("GET", f"{API}/reasons", status.reasons, "Every reason, and what it means"),
    Route(
        *("GET", f"{API}/pages", pages.pages, "The record of one URL, or a list of records by filters"),
        errors=(404,),
    ),
    Route(
        *("GET", f"{API}/pages/content", pages.content, "The stored body of a page, as the archive has it"),
        errors=(404,),
        media_type="*/*",
    ),
    Route(
        *("GET", f"{API}/pages/picture", pages.picture, "How a browser showed a page, where render.screenshot asks"),
        errors=(404,),
        media_type=pages.PICTURE,
    ),
    Route("GET", f"{API}/why", pages.why, "The state of any URL, and the reason"),
    Route("GET", f"{API}/hosts", hosts.hosts, "Hosts in any order, with their delay and why"),
    Route(
        *("GET", f"{API}/hosts/{{host}}", hosts.host, "One host: queue, delay and why, errors, robots.txt"),
        errors=(404,),
    ),
    Route(
        *("GET", f"{API}/hosts/{{host}}/policy", policies.get_host_policy, "What was set for a host alone"),
        errors=(404,),
    ),
    Route(
        *("PUT", f"{API}/hosts/{{host}}/policy", policies.put_host_policy, "Replace what is set for a host alone"),
        scope="control",
        errors=(404, 409, 503),
    ),
    Route(
        *("GET", f"{API}/hosts/{{host}}/urls", hosts.host_urls, "A host's URLs by state, status, reason and time"),
        errors=(404,),
    ),
    Route("GET", f"{API}/domains", hosts.domains, "Domains, their hosts added up"),
    Route(
        *("GET", f"{API}/domains/{{domain}}", hosts.domain, "One domain, its hosts added up"),
        errors=(404,),
    ),
    Route(
        *("GET", f"{API}/domains/{{domain}}/policy", policies.get_policy, "What was set for a domain or a host"),
        errors=(404,),
    ),
    Route(
        *(
            "PUT",
            f"{API}/domains/{{domain}}/policy",
            policies.put_policy,
            "Replace what is set for a domain or a host",
        ),
        scope="control",
        errors=(404, 409, 503),
    ),
    Route("GET", f"{API}/limits", policies.get_limits, "How fast the whole crawl may go"),
    Route(
        *("PUT", f"{API}/limits", policies.put_limits, "Change how fast the whole crawl may go"),
        scope="control",
        errors=(409, 503),
    ),
    Route("GET", f"{API}/policies", folder.policies, "What was set for sites and hosts"),
    Route("GET", f"{API}/settings", folder.settings, "The settings, and what each means"),
    Route("GET", f"{API}/log", folder.log, "The end of the crawl's log, where it writes one", errors=(503,)),
    Route("GET", f"{API}/seeds", folder.seeds, "The URLs that the crawl was started from"),
    Route(
        *("POST", f"{API}/seeds", actions.add_seeds, "Add URLs to start from"),
        scope="control",
        status=201,
        errors=(409, 503),
    ),
    Route(
        *("POST", f"{API}/pause", actions.pause, "Ask for nothing more until resumed"),
        scope="control",
        errors=(409, 503),
    ),
    Route("POST", f"{API}/resume", actions.resume, "Go on after a pause", scope="control", errors=(409, 503)),
    Route(
        *("POST", f"{API}/drain", actions.drain, "Finish what is in flight, then end the crawl"),
        scope="control",
        errors=(503,),
    ),
    Route(
        *("POST", f"{API}/retry", actions.retry, "Queue again what failed or was refused for a reason that can pass"),
        scope="control",
        errors=(400, 404, 409, 503),
    ),
    Route(
        *("POST", f"{API}/crawler/report", fetchers.report, "What came of a job that a fetcher was given"),
        scope="fetch",
        errors=(409, 413, 503),
    ),
    Route(
        *("POST", f"{API}/fetchers/{{fetcher}}/drain", fetchers.drain, "A fetcher gets no more jobs, and ends"),
        scope="control",
        errors=(404, 409, 503),
    ),
    Route("GET", f"{API}/quarantine", actions.quarantine, "URLs that killed their workers"),
    Route(
        *("POST", f"{API}/quarantine/release", actions.release, "Try a URL again that was in quarantine"),
        scope="control",
        errors=(404, 409, 503),
    ),
    Route(
        *("POST", f"{API}/quarantine/drop", actions.drop, "Never ask for a URL again that was in quarantine"),
        scope="control",
        errors=(404, 409, 503),
    ),
    Route(
        *("GET", f"{API}/events", events.events, "What happens now, as server-sent events"),
        errors=(503,),
        media_type="text/event-stream",
    ),
    Route("GET", f"{API}/exports", status.exports, "What was handed on so far, and where each export goes on"),
    Route("GET", f"{API}/me", sessions.me, "Who is asking, and what they may do"),
    Route(
        *("POST", f"{API}/login", sessions.login, "Show a key, and get a cookie for the day"),
        scope=None,
        errors=(401, 429),
    ),
    Route("POST", f"{API}/logout", sessions.logout, "Give the cookie back"),
    Route("GET", f"{API}/openapi.json", openapi, "This document"),
    Route("GET", "/metrics", metrics, "Figures for Prometheus", media_type="text/plain"),
    Route("GET", "/health", static_files.health, "The process lives", scope=None),
    Route("GET", "/ready", static_files.ready, "The crawl's folder can be read", scope=None, errors=(503,)),
    Route("GET", "/docs", static_files.docs, "These routes, to be tried out", media_type="text/html"),
    Route("GET", "/docs/{file}", static_files.docs_file, "A file of the docs", errors=(404,), media_type="*/*"),
    Route("GET", "/", static_files.dashboard, "The dashboard", media_type="text/html"),
    Route("GET", "/static/{file}", static_files.static, "A file of the dashboard", errors=(404,), media_type="*/*"),
)
