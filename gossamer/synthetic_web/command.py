"""`gossamer web`: serve the synthetic web until someone says stop."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from gossamer.synthetic_web.access_log import AccessLog
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web


async def run_web(options: WebOptions, log_file: Path | None = None, host: str = "", port: int = 0) -> None:
    """Serve until cancelled, interrupted or terminated. One line tells where to start."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    # Nobody reads the log of a web that may serve for weeks, unless it goes to a file.
    log = AccessLog(log_file, keep=False)
    try:
        async with serve(Web(options), port=port, host=host, log=log) as server:
            pages = options.hosts * options.pages_per_host
            print(
                f"Serving {options.hosts} hosts with {pages} pages and what they carry: {server.url(0)}", flush=True
            )
            await stop.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
