"""Pictures of the terminal for docs/pictures: a real crawl of the synthetic web in windows of three sizes.

    python -m benchmarks.terminal_pictures

One crawl, whose window is resized after a while; each picture is the last that the terminal was sent, as SVG without
anything from elsewhere. It takes a good minute.
"""

from __future__ import annotations

import asyncio
import re
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from gossamer.supervisor.screen import BEGIN, END
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import quick_settings
from tests.supervisor.window import Terminal, in_window

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
SIZES = {"terminal": (120, 40), "terminal-80x24": (80, 24), "terminal-60x20": (60, 20)}
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
RUNS_S = 60.0  # before the first picture: the chart needs some seconds
WEB = WebOptions(
    hosts=40,
    pages_per_host=200,
    links_per_page=20,
    redirects=0.2,
    not_found=0.1,
    gone=0.05,
    server_errors=0.05,
    slow=0.1,
    slow_s=4.0,
    silent=0.02,
    duplicates=0.1,
)
NOBODY = [f"http://127.9.9.{number}:8017/" for number in (1, 2, 3)]  # nothing listens there


async def main() -> None:
    async with serve(Web(WEB)) as server:
        with TemporaryDirectory() as folder:
            await draw(server, Path(folder))


async def draw(server: Server, folder: Path) -> None:
    settings = quick_settings(politeness__delay_s=1, fetch__timeout_s=8, frontier__retries_s=600)
    flags = ["--allow-private", "--scope", "any", "--max-pages", 5000, "--workers", 2, *settings]
    where = [server.url(0), *NOBODY, "--dir", "crawl-example.org"]
    columns, lines = SIZES["terminal"]
    async with in_window("crawl", *where, *flags, columns=columns, lines=lines, cwd=folder) as terminal:
        sent: list[str] = []
        feed = terminal.window.feed
        terminal.window.feed = lambda text: (sent.append(text), feed(text))[1]  # type: ignore[method-assign]
        await asyncio.sleep(RUNS_S)
        for name, size in SIZES.items():
            terminal.resize(*size)
            await asyncio.sleep(2.0)
            (PICTURES / f"{name}.svg").write_text(svg(last_picture("".join(sent)), *size), encoding="utf-8")
        await leave(terminal)


async def leave(terminal: Terminal) -> None:
    terminal.press(b"\x03")
    await terminal.end()


def last_picture(sent: str) -> list[Text]:
    whole = sent[: sent.rindex(END)]
    lines = whole[whole.rindex(BEGIN) :].replace("\r", "").split("\n")
    return [Text.from_ansi(re.sub(r"\x1b\[[?0-9]*[hlHJK]", "", line)) for line in lines]


def svg(rows: list[Text], columns: int, lines: int) -> str:
    console = Console(width=columns, height=lines, record=True, force_terminal=True, file=StringIO())
    console.print(Text("\n").join(rows), soft_wrap=True)
    picture = console.export_svg(title="gossamer crawl", theme=DIMMED_MONOKAI, unique_id=f"t{columns}")
    # Nothing is fetched when it is looked at: the fonts are those of the system.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    return re.sub(
        r"font-family: (Fira Code|arial)[^;]*;", "font-family: ui-monospace, Menlo, Consolas, monospace;", picture
    )


if __name__ == "__main__":
    asyncio.run(main())
