"""Samples are dealt out to stages, and a sampled process tells where its time went."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.bench import profile
from gossamer.bench.profile import stage_of
from tests.crawl.command import ROOT


@pytest.mark.parametrize(
    ("stack", "stage"),
    [
        (
            [["gossamer.process.fingerprints.shingles", "words_in"], ["gossamer.process.processor", "process"]],
            "simhash",
        ),
        ([["gossamer.url.canonical", "canonicalize"], ["gossamer.process.links", "add"]], "html"),
        ([["gossamer.frontier.disk.store", "write"], ["gossamer.frontier.frontier", "finish"]], "finish"),
        ([["gossamer.frontier.intake", "add"], ["gossamer.frontier.frontier", "add"]], "frontier add"),
        ([["pycurl.async_multi", "_drive"]], "fetch"),
        ([["asyncio.runners", "run"], ["gossamer.runtime.event_loop", "in_loop"]], "event loop"),
        ([["gossamer.process.html", "<module>"], ["importlib._bootstrap", "_load"]], "start and end"),
        ([], "event loop"),
    ],
)
def test_the_innermost_function_that_belongs_to_a_stage_decides(stack: list[list[str]], stage: str) -> None:
    assert stage_of(stack) == stage


def test_time_is_shared_out_by_page() -> None:
    worker = {
        "argv": ["python", "-m", "gossamer.worker"],
        "main_s": 2.0,
        "all_s": 2.5,
        "stacks": [[1.5, [["gossamer.archive.warc", "member"]]], [0.5, []]],
        "threads": [["rocksdb:low", 0.4]],
    }
    facts = profile.facts_of([worker], pages=1000)
    assert facts["workers_us"] == {"warc": 1500.0, "event loop": 500.0}
    assert facts["threads_us"] == {"rocksdb:low": 400.0, "ended": 100.0}
    assert "member" in profile.text(facts)


def test_a_sampled_process_says_where_its_time_went(tmp_path: Path) -> None:
    # Half of the time in a compiled function, half in one of Python, whichever the machine makes faster.
    script = f"""
import hashlib, time
from pathlib import Path
from gossamer.bench.sampling import start

def compiled():
    until = time.process_time() + 0.2
    while time.process_time() < until:
        hashlib.sha256(bytes(1_000_000)).digest()

def interpreted():
    until, n = time.process_time() + 0.2, 0
    while time.process_time() < until:
        n += 1

start(Path({str(tmp_path)!r}))
compiled()
interpreted()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, timeout=60)
    (file,) = tmp_path.iterdir()
    found: dict[str, float] = {}
    for seconds, stack in json.loads(file.read_text())["stacks"]:
        name = stack[0][1] if stack else ""  # at the very end there may be none
        found[name] = found.get(name, 0.0) + seconds
    assert found["compiled"] == pytest.approx(0.2, rel=0.25)
    assert found["interpreted"] == pytest.approx(0.2, rel=0.25)


def test_a_sampled_worker_still_tells_what_reading_pages_took(tmp_path: Path) -> None:
    # The worker bounds the time of each page by a clock, which must not be that of the samples.
    script = f"""
import asyncio, time
from pathlib import Path
from gossamer.bench.sampling import start
from gossamer.process.processor import Processor
from tests.process.documents import fetched

async def read():
    processor, page = Processor(may_die=True), fetched(b"<p>text " * 1000, "Content-Type: text/html")
    until = time.process_time() + 0.5
    while time.process_time() < until:
        await processor.process("http://a.test/", page)

start(Path({str(tmp_path)!r}))
asyncio.run(read())
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, timeout=60)
    (file,) = tmp_path.iterdir()
    stacks = json.loads(file.read_text())["stacks"]
    assert sum(seconds for seconds, stack in stacks if stage_of(stack) == "html") > 0.2
