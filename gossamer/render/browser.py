"""A browser process: where it is found, how it is started, and that nothing leaves it.

It has no network of its own. Where the system lets us, it lives in an empty network namespace (`unshare`). In any
case its flags map every name to nowhere and send everything to a proxy that is not there: WebSockets, WebRTC, DNS
prefetches and service workers included. What its pages ask for is answered by us over DevTools (showing.py), so that
politeness and safety are the fetcher's.

It speaks over a socket pair, and ends when the other end of that closes, however the worker ended.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from gossamer.render.devtools import BrowserGone, CommandFailed, Connection
from gossamer.settings import RenderSettings
from gossamer.settings.kinds import MIB

START_S = 30.0
ANSWER_S = 10.0  # for what a browser does at once: on a busy machine too
NAMES = (
    *("chromium-headless-shell", "chrome-headless-shell", "headless_shell"),  # half of the memory, and faster
    *("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"),
)
ON_MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
INSTALL = (
    "Debian: apt install chromium-headless-shell; Fedora: dnf install chromium-headless; "
    "macOS: brew install --cask chromium"
)
# The browser looks for its connection at two descriptors, which only a process of its own can arrange.
LAUNCH = "import os, sys; fd = int(sys.argv[1]); os.dup2(fd, 3); os.dup2(fd, 4); os.execv(sys.argv[2], sys.argv[2:])"
FEATURES_OFF = (
    *("SpareRendererForSitePerProcess", "Translate", "BackForwardCache", "MediaRouter", "OptimizationHints"),
    *("AcceptCHFrame", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "InterestFeedV2"),
    *("DialMediaRouteProvider", "GlobalMediaControls", "LensOverlay", "PrivateStateTokens", "SpeculationRules"),
    # Parts of the window that are web pages themselves: half of the CPU time of a start; docs/decisions/0065
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "PreloadTopChromeWebUI"),
)
FLAGS = (
    *("--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--no-default-browser-check"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter", "--disable-domain-reliability"),
    *("--disable-client-side-phishing-detection", "--disable-dev-shm-usage", "--disable-notifications"),
    *("--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-quic", "--disable-print-preview"),
    *("--disable-file-system", "--disable-speech-api", "--disable-remote-fonts", "--disable-3d-apis"),
    *("--disable-site-isolation-trials", "--disable-web-security", "--deny-permission-prompts", "--mute-audio"),
    *("--block-new-web-contents", "--dns-prefetch-disable", "--hide-scrollbars", "--password-store=basic"),
    *("--use-mock-keychain", "--metrics-recording-only", "--no-pings", "--window-size=1280,1024"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=http://0.0.0.0:9", "--proxy-bypass-list=<-loopback>"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--blink-settings=imagesEnabled=false",
    f"--disable-features={','.join(FEATURES_OFF)}",
    "--enable-features=NetworkServiceInProcess2",  # it has no network to serve, and was a process of its own
)


def find_browser(path: str = "") -> str | None:
    """None: there is none."""
    if path:
        return path if os.access(path, os.X_OK) else None
    found = (shutil.which(name) for name in NAMES)
    on_macos = (path for path in ON_MACOS if os.access(path, os.X_OK))
    return next((each for each in (*found, *on_macos) if each), None)


@cache
def without_network() -> tuple[str, ...]:
    """What a command begins with that has no network; empty: this system does not let us."""
    unshare = shutil.which("unshare")
    own = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    if unshare is None:
        return ()
    prefix = (unshare, *own, "--net", "--")
    with suppress(OSError, subprocess.TimeoutExpired):
        if subprocess.run([*prefix, "true"], capture_output=True, timeout=START_S, check=False).returncode == 0:
            return prefix
    return ()


def command(program: str, profile: Path, settings: RenderSettings) -> list[str]:
    heap_mib = max(64, settings.memory // MIB // 2)
    own = [f"--user-data-dir={profile}", f"--js-flags=--max-old-space-size={heap_mib}"]
    if os.geteuid() == 0:
        own.append("--no-sandbox")  # it does not start otherwise
    return [*without_network(), program, *FLAGS, *own, "about:blank"]


class Browser:
    def __init__(self, process: asyncio.subprocess.Process, connection: Connection, profile: Path) -> None:
        self.process = process
        self.connection = connection
        self.ask = connection.browser.ask
        self.shown = 0  # pages so far
        self.pages = 0  # at the moment
        self.pages_killed = 0  # for their memory, and nobody has heard of it
        self.is_leaving = False  # it shows nothing more
        self._profile = profile
        self._hidden: dict[str, bool] = {"hidden": True}

    @classmethod
    async def start(cls, program: str, profile: Path, settings: RenderSettings) -> Browser:
        profile.mkdir(parents=True)
        ours, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", LAUNCH, str(fd), *command(program, profile, settings)),
                pass_fds=[fd],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                env={
                    "PATH": os.defpath,
                    "HOME": str(profile),
                    "LANG": "C.UTF-8",
                    "TZ": "UTC",
                    "TMPDIR": str(profile),
                },
            )
        browser = cls(process, await Connection.over(ours), profile)
        try:
            async with asyncio.timeout(START_S):
                await browser.ask("Browser.getVersion")
        except (TimeoutError, BrowserGone, CommandFailed) as fault:
            await browser.close()
            raise BrowserGone(f"{program} does not start") from fault
        except BaseException:
            await browser.close()
            raise
        return browser

    @property
    def is_gone(self) -> bool:
        return bool(self.connection.browser.gone) or self.process.returncode is not None

    async def new_target(self, context: str, *, is_drawn: bool) -> str:
        """A page in a context of its own; without a window, if it is not to be drawn and the browser can do that."""
        hidden = {} if is_drawn else self._hidden
        try:
            found = await self.ask("Target.createTarget", url="about:blank", browserContextId=context, **hidden)
        except CommandFailed:
            if not hidden:
                raise
            self._hidden = {}
            return await self.new_target(context, is_drawn=is_drawn)
        return str(found["targetId"])

    def kill(self) -> None:
        self.is_leaving = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """It holds nothing that anybody needs."""
        self.kill()
        await self.process.wait()
        await self.connection.close()
        await asyncio.to_thread(shutil.rmtree, self._profile, ignore_errors=True)
