"""A trial: one URL fetched and read as a crawl would, with every decision on the way, and nothing stored.

The parts are those of a crawl: link filter, policies, robots.txt, fetcher, processor and, with a crawl's folder,
its fingerprints. So is its politeness: the delay of a host is kept between two requests, and after those of the crawl
(frontier/rules/politeness.py). While that crawl runs, hosts that it knows are left to it: nobody else can tell when
they may be asked.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gossamer.clock import RealClock
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.http import Http
from gossamer.fetch.protocols import protocols
from gossamer.fetch.robots import RobotsCache
from gossamer.fetch.sessions import Sessions
from gossamer.fetch.transfer import Transfers
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.frontier.rules.politeness import start_delay
from gossamer.inspect import robots_facts
from gossamer.inspect.view import CrawlView
from gossamer.interfaces import NoBooking
from gossamer.process.fingerprints import duplicates, near
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.processor import processor_of
from gossamer.records import (
    Answer,
    Claim,
    Fetched,
    Host,
    Lease,
    Link,
    Moved,
    Page,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsRead,
    Url,
    Verdict,
)
from gossamer.settings import Tree
from gossamer.text import COMMAND, moment, span
from gossamer.url.link_filter import home_of, link_filter_of
from gossamer.url.site import clock_name, host_of, origin_of, site_of
from gossamer.visitor import credentials
from gossamer.visitor.cookies import Jar, jar_name
from gossamer.visitor.identity import load as load_identity
from gossamer.worker.identity import identity

Facts = dict[str, Any]
TURN_S_MAX = 60.0  # a host that has to be left alone for longer is not waited for


class Trial:
    """Use as `async with Trial(...) as trial: facts = await trial.run(url)`."""

    def __init__(self, tree: Tree, view: CrawlView | None, say: Callable[[str], None]) -> None:
        """`view`: of the crawl that would fetch it; None: one that begins with the URL. `say`: what is waited for."""
        self._tree, self._view, self._say = tree, view, say
        self._clock = RealClock()
        self._policies = view.folder.policies() if view else Policies()
        self._hosts: dict[str, Host] = {}
        self._of_crawl: set[str] = set()  # those of them that the crawl knows
        self._robots = RobotsCache(view.robots if view else lambda origin: None)
        self._jars: dict[str, Jar] = {}  # of sites
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Trial:
        tree = self._tree
        dns = Dns(self._clock, tree.dns)
        self._exit.push_async_callback(dns.close)
        transfers = Transfers(
            *(dns, self._clock, tree.fetch),
            allow_private=tree.crawl.allow_private,
            proxy_of=lambda host: self._policies.of_name(host).proxy,
        )
        self._exit.push_async_callback(transfers.close)
        scheme_fetchers = protocols(tree.fetch.schemes, transfers, identity(tree.crawl))
        agent, crawl = tree.crawl.user_agent_token, tree.crawl
        http = Http(transfers, identity(tree.crawl))
        who = load_identity(tree.fetch.identity_key, tree.fetch.identity_url)
        sessions = Sessions(credentials.load(tree.fetch.credentials), http, self._clock, who)
        jars = CookieJars(tree.fetch.cookies, self._clock, self._jar, self._keep_jar)
        asked = (self._robots, self._booking, self._clock, tree.robots, agent)
        self._fetcher = Fetcher(
            scheme_fetchers, *asked, crawl.media_types, tree.frontier.rests_s, cookies=jars, sessions=sessions
        )
        self._processor = processor_of(tree)
        self._exit.push_async_callback(self._processor.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def run(self, url: Url) -> Facts:
        self._filter = (
            self._view.filters(self._clock)
            if self._view
            else link_filter_of({home_of(host_of(url), self._tree.crawl.scope)}, self._tree, self._clock)
        )
        # In a crawl it is judged as if a page had linked to it, because a seed is let in nearly everywhere.
        link = Link(url) if self._view is None else Link(url, source=url, depth=1)
        steps: list[Facts] = []
        while True:
            result = await self._step(link)
            steps.append(self._step_facts(link, result))
            if not isinstance(result, Moved):
                break
            chain = (*link.chain, link.url)
            link = Link(result.target, source=link.url, depth=link.depth, chain=chain)
        facts: Facts = {"url": url, "steps": steps, "page": None, "known": None, "verdict": None}
        if isinstance(result, Fetched):
            page = (await self._processor.process(link.url, result)).plain()
            facts["page"] = self._page_facts(link, page, result)
            if self._view is not None:
                facts["verdict"] = self._verdict_facts(self._view, page, result)
        if self._view is not None and (known := self._view.state(link.url)) is not None:
            facts["known"] = {"state": known.state, "fetched_at": moment(known.fetched_at)}
        return facts

    # ---- the way to an answer ----------------------------------------------------------------------------

    async def _step(self, link: Link) -> Result:
        """What became of one URL: its robots.txt first, where no good copy is known."""
        if (reason := self._filter(link)) is not None:
            return Refused(reason)
        host = self._host(link.url)
        while True:
            if (waits := await self._turn(link.url)) is not None:
                return waits
            lease = Lease(link, host.name, self._clock.now() + self._tree.frontier.lease_s)
            result: Result
            try:
                result = await self._fetcher.fetch(lease)
            except NoBooking as fault:
                return Refused(Reason.ROBOTS_UNREACHABLE, str(fault))
            start_delay(host, result, self._tree.politeness, self._policy(host), self._clock.now())
            if isinstance(result, Postponed) and result.reason in (Reason.COOKIE, Reason.LOGIN):
                continue
            if not isinstance(result, RobotsRead):
                return result
            if result.wait_s:
                return Refused(Reason.ROBOTS_UNREACHABLE, result.robots.fault, result.wait_s)

    async def _turn(self, url: Url) -> Refused | Postponed | None:
        """Wait until the host may be asked; what it has to be left alone for, where that is too long or not known."""
        host = self._host(url)
        policy = self._policy(host)
        if policy.blocked:
            return Refused(Reason.BLOCKED)
        if policy.paused:
            return Refused(Reason.POLICY, "its host is paused")
        if self._view is not None and host.name in self._of_crawl:
            folder = self._view.folder
            if folder.is_locked and not folder.paused:
                detail = f"the crawl is running and asks {host.name} itself: `{COMMAND} pause {folder.path}` first"
                return Refused(Reason.OWNERSHIP, detail)
        wait_s = host.next_turn_at - self._clock.now()
        if wait_s > TURN_S_MAX:
            return Postponed(wait_s, host.waits_for, f"{host.name} may be asked again in {span(wait_s)}")
        if wait_s > 0.5:
            self._say(f"{host.name} may be asked again in {span(wait_s)} [{host.waits_for}]")
        await self._clock.sleep(max(0.0, wait_s))
        return None

    @asynccontextmanager
    async def _booking(self, url: Url) -> AsyncIterator[Callable[[Answer], None]]:
        """For a robots.txt that was moved to another host."""
        if (waits := await self._turn(url)) is not None:
            raise NoBooking(waits.detail or f"redirected to {host_of(url)}: {waits.reason}")
        host = self._host(url)
        yield lambda answer: start_delay(host, answer, self._tree.politeness, self._policy(host), self._clock.now())

    def _host(self, url: Url) -> Host:
        name = clock_name(host_of(url))
        if name not in self._hosts:
            known = self._view.host(url, name) if self._view else None
            self._of_crawl |= {name} if known else set()
            self._hosts[name] = known or Host(name, site_of(name))
        return self._hosts[name]

    def _jar(self, url: Url) -> Jar:
        site = jar_name(url)
        if site not in self._jars:
            self._jars[site] = self._view.jar(url) if self._view else ()
        return self._jars[site]

    def _keep_jar(self, url: Url, jar: Jar) -> None:
        self._jars[jar_name(url)] = jar

    def _policy(self, host: Host) -> Policy:
        return self._policies.of(host)

    # ---- facts -------------------------------------------------------------------------------------------

    def _step_facts(self, link: Link, result: Result) -> Facts:
        copy, _ = self._robots.get(origin_of(link.url))
        exchange = result.exchange
        robots = robots_facts.facts_of(link.url, copy, self._tree, "it was not asked for")
        return {
            "url": link.url,
            "reason": None if isinstance(result, Fetched | Moved | RobotsRead) else result.reason,
            "detail": None if isinstance(result, Fetched | Moved | RobotsRead) else result.detail or None,
            "is_asked": exchange is not None or bool(result.ended_at),
            "status": exchange.status if exchange else None,
            "moved_to": result.target if isinstance(result, Moved) else None,
            "asked_at": moment(exchange.started_at) if exchange else None,
            "latency_s": round(exchange.latency_s, 3) if exchange else None,
            "ip": (exchange.ip or None) if exchange else None,
            "proxy": (exchange.proxy or None) if exchange else None,
            "tls_fault": (exchange.tls_fault or None) if exchange else None,
            "request": exchange.request.decode("latin-1") if exchange else None,
            "response": exchange.head.decode("latin-1") if exchange else None,
            "robots": {name: value for name, value in robots.items() if name != "url"},
        }

    def _page_facts(self, link: Link, page: Page, fetched: Fetched) -> Facts:
        def reason(found: Link) -> Reason | None:
            if page.nofollow:
                return Reason.NOFOLLOW
            depth = link.depth + 1
            return self._filter(Link(found.url, rel=found.rel, source=link.url, depth=depth))

        return {
            "media_type": page.media_type or None,
            "bytes": fetched.body_bytes,
            "truncated": fetched.exchange.truncated or None,
            "content_hash": fetched.digest,
            "fault": page.fault or None,
            "title": page.title or None,
            "description": page.description or None,
            "language": page.language or None,
            "canonical": page.canonical,
            "noindex": page.noindex,
            "nofollow": page.nofollow,
            "noarchive": page.noarchive,
            "headings": page.headings,
            "text": page.main_text or page.text,
            "links": [
                {"url": each.url, "anchor": each.anchor, "rel": each.rel, "reason": reason(each)}
                for each in page.links
            ],
        }

    def _verdict_facts(self, view: CrawlView, page: Page, fetched: Fetched) -> Facts | None:
        simhash = page.simhash if page.sketch else None
        claim = Claim(fetched.digest, page.url, fetched.exchange.started_at, simhash, page.sketch)
        known = view.state(page.url)
        if known is not None and known.content_hash == claim.content_hash:
            verdict: Verdict | None = Verdict("unchanged", page.url)
        else:
            verdict = judged(view.folder.fingerprints, claim, self._tree.process.near_bits)
        if verdict is None:
            return None
        return {"kind": verdict.kind, "of": verdict.of, "resemblance": verdict.share_in_common}


def judged(folder: Path, claim: Claim, near_bits: int) -> Verdict | None:
    """By the fingerprints of a crawl, of which nothing is changed: the list beside them is copied. None: there are
    none yet."""
    if not is_store(folder):
        return None
    with (
        TemporaryDirectory() as beside,
        closing(RocksStore(folder, duplicates.TABLES, read_only=True)) as store,
    ):
        if near_bits and store.get("near", near.FORM) is None:
            return None
        if (filled := folder / "near.filled").exists():
            shutil.copyfile(filled, Path(beside) / filled.name)
        with closing(Duplicates(store, Path(beside), near_bits)) as claims:
            return claims.judge([claim])[0]
