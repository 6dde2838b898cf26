"""A real browser: Chromium, headless, with a fresh profile, and a note of all that it asks for or complains about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, ViewportSize, expect, sync_playwright

from tests.debian import program

# Nothing of its own goes out: what it asks for is what the page asks for.
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-quic"),
)
PATIENCE_MS = 40_000  # a busy machine is no fault of the page
PHONE: ViewportSize = {"width": 375, "height": 812}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
WIDE: ViewportSize = {"width": 2560, "height": 1440}


@contextmanager
def chromium() -> Iterator[Browser]:
    path = program("chromium", "chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


class Tab:
    """A page with what it asked for and what it complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", self._asked)
        page.on("console", self._heard)
        page.on("pageerror", self._failed)

    def close(self) -> None:
        """Hear no more of it, and leave the window to the next test."""
        self.page.remove_listener("request", self._asked)
        self.page.remove_listener("console", self._heard)
        self.page.remove_listener("pageerror", self._failed)
        self.page.goto("about:blank")

    def _asked(self, request: Request) -> None:
        self.asked.append(request.url)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _failed(self, error: Error) -> None:
        self.complaints.append(str(error))

    def origins(self) -> set[str]:
        """Where it has been asking, apart from itself (data: and blob: are no requests)."""
        return {f"{scheme}://{place}" for scheme, place, *_ in map(urlsplit, self.asked) if scheme.startswith("http")}

    def see(self, view: str) -> None:
        """Go to a view by its address, and wait until it is there."""
        self.page.evaluate("hash => { location.hash = hash }", view)
        path = view.removeprefix("#/").partition("?")[0]
        shown = "host" if path.startswith("hosts/") else path or "overview"
        self.page.wait_for_selector(f"body[data-view={shown}]")

    def is_drawn(self, chart: str) -> bool:
        """Whether there is anything on the canvas of a chart."""
        drawn: bool = self.page.locator(f"{chart} canvas").evaluate(
            "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)"
        )
        return drawn

    def number(self, selector: str) -> float:
        """A figure on the page; 0 while there is none."""
        text = self.page.locator(selector).inner_text().replace(",", "")
        return 0.0 if text == "–" else float(text.split()[0])

    def figure_above(self, selector: str, least: float) -> None:
        """Wait until a figure on the page is larger."""
        self.page.wait_for_function(
            "([where, least]) => parseFloat(document.querySelector(where).innerText.replaceAll(',', '')) > least",
            arg=[selector, least],
        )
