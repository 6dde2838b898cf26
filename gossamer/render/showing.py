"""One page in a browser: a context of its own, every request answered by us, and what its DOM is in the end.

Time in the page is virtual (`Emulation.setVirtualTimePolicy`): it stands still while something that the page asked
for is on its way, and runs as fast as the processor otherwise. So a page is complete when `VIRTUAL_MS` of its own
time have passed: timers of seconds cost nothing, and timers without an end stop. After that it is scrolled to its
end, as long as that brings something, at most `SCROLLS_MAX` times.

The document is the body that was fetched. Scripts, style sheets, XHR and fetch are loaded (loading.py), all else
fails. A page that goes elsewhere (`location = ...`) stays, and where it wanted to go becomes a link. What is still
missing when the time is up fails, and the page is taken as it is then.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import Any

import msgspec

from gossamer.clock import Clock
from gossamer.records import Answer, Failed, Fetched, Moved, Postponed, Refused, Url
from gossamer.render.browser import ANSWER_S, Browser
from gossamer.render.devtools import BrowserGone, CommandFailed, PageDied, Session, Values
from gossamer.render.loading import Loading, Wanted
from gossamer.render.scripts import BEFORE, READ, SCROLL, SIZE
from gossamer.rendered import Loaded
from gossamer.settings import RenderSettings
from gossamer.settings.kinds import MIB
from gossamer.url.canonical import canonicalize
from gossamer.url.site import origin_of

VIRTUAL_MS = 5000
SCROLL_MS = 1000
SCROLLS_MAX = 10
BUSY_S = 10.0  # in which a page asked for nothing and came to no end
LAST_S = 2.0  # for what is left of a page when its time is up
DOCUMENT_BYTES_MAX = 10 * MIB
EVENTS_MAX = 20  # times as many requests as may be loaded: then the page is ended
TARGETS_MAX = 5
SCREEN: Values = {"width": 1280, "height": 1024, "deviceScaleFactor": 1, "mobile": False}
LOADED = frozenset({"Script", "Stylesheet", "XHR", "Fetch"})


class Shown(msgspec.Struct):
    """What came of it. Without a document there is a fault."""

    document: str = ""
    fault: str = ""
    loaded: list[Loaded] = []
    screenshot: bytes = b""
    requests: int = 0
    bytes: int = 0
    targets: list[str] = []  # where the page wanted to go


class Showing:
    def __init__(
        self, browser: Browser, url: Url, body: bytes, content_type: str, loading: Loading, settings: RenderSettings,
        agent: str, clock: Clock,
    ) -> None:  # fmt: skip
        self._browser = browser
        self._url = url
        self._body = body
        self._content_type = content_type
        self._loading = loading
        self._settings = settings
        self._agent = agent
        self._clock = clock
        self._until = clock.awake() + settings.seconds
        self._result = Shown(loaded=[], targets=[])
        self._frame = ""
        self._world = 0
        self._is_sent = False  # the document
        self._is_dead = False
        self._events = 0
        self._heard_at = clock.awake()
        self._quiet = asyncio.Event()  # virtual time has run out, or the page is gone
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: Session

    async def show(self) -> Shown:
        """Raises `PageDied` where the page died, `BrowserGone` where its browser did: it may be shown again."""
        context = target = ""
        try:
            async with asyncio.timeout(ANSWER_S + self._settings.seconds):
                ask = self._browser.ask
                context = (await ask("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"]
                target = await self._browser.new_target(context, is_drawn=self._settings.screenshot)
                attached = await ask("Target.attachToTarget", targetId=target, flatten=True)
                self._session = self._browser.connection.session(attached["sessionId"])
                self._session.hear = self._hear
                await self._prepare(context)
                await self._run()
        except TimeoutError:
            self._result.fault = "the browser did not answer"
            self._browser.kill()  # it hangs
        except CommandFailed as fault:
            self._result.fault = f"the browser says: {fault}"
        except BrowserGone as gone:
            if self._browser.is_gone:
                raise
            if self._is_dead:
                raise PageDied(str(gone)) from gone
            self._result.fault = str(gone)
        finally:
            for task in self._tasks:
                task.cancel()
            await self._leave(context, target)
        return self._result

    async def _prepare(self, context: str) -> None:
        session, browser = self._session, self._browser
        await asyncio.gather(
            browser.ask("Browser.setDownloadBehavior", behavior="deny", browserContextId=context),
            browser.ask("Browser.grantPermissions", permissions=[], browserContextId=context),
            session.ask("Inspector.enable"),
            session.ask("Page.enable"),
            session.ask("Fetch.enable", patterns=[{"urlPattern": "*"}]),
            session.ask("Network.setBypassServiceWorker", bypass=True),
            session.ask("Emulation.setUserAgentOverride", userAgent=self._agent),
            session.ask("Emulation.setDeviceMetricsOverride", **SCREEN),
            session.ask("Page.addScriptToEvaluateOnNewDocument", source=BEFORE),
        )
        tree = await session.ask("Page.getFrameTree")
        self._frame = tree["frameTree"]["frame"]["id"]

    async def _run(self) -> None:
        session = self._session
        session.tell("Page.navigate", url=self._url)
        await self._settle()
        before = ""
        for _ in range(SCROLLS_MAX):
            size = await self._evaluate(SIZE)
            if size is None or size == before or self._left_s() <= 0:
                break
            before = size
            if await self._evaluate(SCROLL, is_told=True) is None:
                break
            self._quiet.clear()
            self._virtual_time(SCROLL_MS)
            await self._settle()
        if self._settings.screenshot:
            await self._take_picture()
        document = await self._evaluate(READ % (msgspec.json.encode(self._url).decode(), DOCUMENT_BYTES_MAX))
        if not document:
            self._result.fault = "its scripts do not end" if document is None else "it has no document"
        self._result.document = document or ""

    async def _settle(self) -> None:
        """Until the page is complete or its time is up; then what it still waits for fails."""
        while not self._quiet.is_set() and self._left_s() > 0 and self._is_alive:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._left_s(), BUSY_S / 4)):
                    await self._quiet.wait()
        if not self._quiet.is_set():
            for task in list(self._tasks):
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_S):
                    await self._quiet.wait()
        if self._session.gone:
            raise BrowserGone(self._session.gone)

    @property
    def _is_alive(self) -> bool:
        """Something is on its way, or the page has asked for something lately."""
        return bool(self._tasks) or self._clock.awake() - self._heard_at < BUSY_S

    def _left_s(self) -> float:
        return self._until - self._clock.awake()

    async def _evaluate(self, expression: str, *, is_told: bool = False) -> str | None:
        """In a world of its own, where no script of the page has changed anything; None: the page does not answer."""
        for is_last in (False, True):
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_S):
                    if not self._world:
                        made = await self._session.ask("Page.createIsolatedWorld", frameId=self._frame)
                        self._world = made["executionContextId"]
                    found = await self._session.ask(
                        "Runtime.evaluate", expression=expression, contextId=self._world, returnByValue=True
                    )
                    return "" if is_told else str(found["result"].get("value") or "")
            if not is_last:
                self._session.tell("Runtime.terminateExecution")
        return None

    async def _take_picture(self) -> None:
        with suppress(TimeoutError, CommandFailed):
            async with asyncio.timeout(ANSWER_S):
                found = await self._session.ask("Page.captureScreenshot", format="png", optimizeForSpeed=True)
                self._result.screenshot = b64decode(found["data"])

    def _virtual_time(self, budget_ms: int) -> None:
        policy = "pauseIfNetworkFetchesPending"
        self._session.tell("Emulation.setVirtualTimePolicy", policy=policy, budget=budget_ms)

    async def _leave(self, context: str, target: str) -> None:
        """Nothing outlives the page."""
        if hasattr(self, "_session"):
            self._browser.connection.forget(self._session)
        if not context or self._browser.is_gone:
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                if target:
                    with suppress(CommandFailed):  # hidden ones do not end with their context
                        await self._browser.ask("Target.closeTarget", targetId=target)
                await self._browser.ask("Target.disposeBrowserContext", browserContextId=context)
        except (TimeoutError, CommandFailed):
            self._browser.kill()
        except BrowserGone:
            pass

    # ---- what the browser tells --------------------------------------------------------------------------

    def _hear(self, name: str, values: Values) -> None:
        self._heard_at = self._clock.awake()
        match name:
            case "Fetch.requestPaused":
                self._paused(values)
            case "Page.frameNavigated" if values["frame"]["id"] == self._frame:
                self._world = 0
                self._virtual_time(VIRTUAL_MS)
            case "Emulation.virtualTimeBudgetExpired":
                self._quiet.set()
            case "Page.javascriptDialogOpening":
                self._session.tell("Page.handleJavaScriptDialog", accept=False)
            case "Inspector.targetCrashed":
                self._is_dead = True
                self._session.end("its page died in the browser")
                self._quiet.set()
            case "Inspector.detached":
                self._session.end("its page was ended in the browser")
                self._quiet.set()

    def _paused(self, values: Values) -> None:
        request, kind, number = values["request"], values["resourceType"], values["requestId"]
        self._events += 1
        if self._events > EVENTS_MAX * max(1, self._settings.requests):
            self._session.end("it asked for too much")
            self._quiet.set()
            return
        if kind == "Document" and values["frameId"] == self._frame:
            self._navigates(number, request["url"])
        elif kind in LOADED and request["method"] == "GET" and (url := canonicalize(request["url"])) is not None:
            task = asyncio.ensure_future(self._answer(number, url, kind))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            if kind in LOADED:
                self._note(request["url"], kind, why="method" if request["method"] != "GET" else "not_a_url")
            self._fail(number)

    def _navigates(self, number: str, target: str) -> None:
        if not self._is_sent:
            self._is_sent = True
            self._fulfil(number, 200, [("Content-Type", self._content_type)], self._body)
            return
        if len(self._result.targets) < TARGETS_MAX and target not in self._result.targets:
            self._result.targets.append(target)
        self._fulfil(number, 204, [], b"")  # the page stays

    async def _answer(self, number: str, url: Url, kind: str) -> None:
        settings, result = self._settings, self._result
        wanted = Wanted(url, is_own=origin_of(url) == origin_of(self._url))
        answer = self._loading.kept(wanted)
        why = "cache" if answer is not None else ""
        if answer is None:
            left_bytes = settings.bytes - result.bytes
            if result.requests >= settings.requests or left_bytes <= 0:
                self._note(url, kind, why="budget")
                self._fail(number)
                return
            result.requests += 1
            try:
                answer = await self._loading.load(wanted, kind, left_bytes)
            except asyncio.CancelledError:
                self._note(url, kind, why="time")
                self._fail(number)
                raise
            if isinstance(answer, Refused | Postponed):
                result.requests -= 1  # no server was asked
            result.bytes += len(answer.body) if isinstance(answer, Fetched | Moved) else 0
        self._pass_on(number, url, kind, answer, why)

    def _pass_on(self, number: str, url: Url, kind: str, answer: Answer, why: str) -> None:
        match answer:
            case Fetched(exchange=exchange, body=body):
                self._note(url, kind, exchange.status, len(body), why)
                headers = [("Content-Type", exchange.header("Content-Type") or "text/plain")]
                self._fulfil(number, exchange.status, headers, body[:])
            case Moved(exchange=exchange, target=target):
                self._note(url, kind, exchange.status, 0, why)
                self._fulfil(number, exchange.status, [("Location", target)], b"")
            case Failed(exchange=exchange) if exchange is not None:
                self._note(url, kind, exchange.status, 0, str(answer.reason))
                self._fulfil(number, exchange.status, [], b"")
            case _:
                self._note(url, kind, why=str(answer.reason))
                self._fail(number)

    def _note(self, url: str, kind: str, status: int = 0, length: int = 0, why: str = "") -> None:
        if len(self._result.loaded) < self._settings.requests * 2:
            self._result.loaded.append(Loaded(url[:2000], kind, status, length, why))

    def _fulfil(self, number: str, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        if not 200 <= status < 600:
            self._fail(number)
            return
        listed: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in headers]
        self._session.tell(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=status,
            responseHeaders=[*listed, {"name": "Access-Control-Allow-Origin", "value": "*"}],
            body=b64encode(body).decode(),
        )

    def _fail(self, number: str) -> None:
        self._session.tell("Fetch.failRequest", requestId=number, errorReason="BlockedByClient")
