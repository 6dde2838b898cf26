"""What a worker renders pages with: its browsers, and the requests of their pages by way of its fetcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from functools import cache

from gossamer.clock import Clock
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.sessions import Sessions
from gossamer.fetch.subrequests import Subrequests
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import BookingOf, SchemeFetcher
from gossamer.records import RobotsCopy, Url
from gossamer.render.browser import INSTALL, find_browser
from gossamer.render.renderer import Renderer
from gossamer.rendered import When
from gossamer.runtime.temporary import temporary_folder
from gossamer.settings import Tree
from gossamer.url.site import host_of
from gossamer.worker.identity import identity


def open_renderer(
    config: Tree,
    scheme_fetchers: Mapping[str, SchemeFetcher],
    robots: Callable[[str], RobotsCopy | None],
    booking_of: BookingOf,
    own: tuple[CookieJars, Sessions],
    clock: Clock,
    policies: Callable[[], Policies],
    complain: Callable[[str], None],
    exit: AsyncExitStack,
) -> Renderer | None:
    """`own`: what we bring to sites. None: nothing is rendered, because nobody wants that or there is no browser."""
    settings = config.render

    def when(url: Url) -> When:
        return policies().of_name(host_of(url)).render or settings.when

    program = find_browser(settings.browser)
    if program is None:
        if settings.when == "always" or settings.browser:
            complain(f"no page is rendered, because there is no browser{in_words(settings.browser)}. {INSTALL}")
        return None
    asked = (booking_of, clock, config.robots, config.crawl.user_agent_token, config.politeness.delay_s)
    folders = exit.enter_context(ExitStack())
    subrequests = Subrequests(scheme_fetchers, robots, *asked, *own)
    exit.push_async_callback(subrequests.close)
    renderer = Renderer(
        program,
        cache(lambda: folders.enter_context(temporary_folder())),
        settings,
        identity(config.crawl),
        subrequests.fetch,
        clock,
        when,
        config.politeness.delay_s,
    )
    exit.push_async_callback(renderer.close)
    return renderer


def in_words(path: str) -> str:
    return f" at {path} (render.browser)" if path else ""
