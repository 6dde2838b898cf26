from __future__ import annotations

import asyncio
import errno
import mmap
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from gossamer.interfaces import NotRead
from gossamer.process import sandbox
from gossamer.process.processor import Processor
from gossamer.records import Page
from gossamer.settings import ProcessSettings
from gossamer.settings.kinds import MIB
from tests.process import own_processors
from tests.process.documents import fetched, pdf_bomb, pdf_of

URL = "http://a.test/x"
TOLD = "Content-Type: application/x-told"
LIMITS = ProcessSettings(time_s_max=0.6, memory_bytes_max=128 * MIB)

assert own_processors  # imported for what it registers


@pytest.fixture
async def processor() -> AsyncIterator[Processor]:
    processor = Processor(process=LIMITS)
    yield processor
    await processor.close()


async def told(processor: Processor, what: str, url: str = URL) -> Page:
    return await processor.process(url, fetched(what.encode(), TOLD))


async def test_documents_are_read_by_one_other_process_which_comes_and_goes_with_the_processor() -> None:
    processor = Processor(process=LIMITS)
    pages = await asyncio.gather(*(told(processor, f"page {number}") for number in range(20)))
    assert [page.title for page in pages] == [f"page {number}" for number in range(20)]
    (process,) = {int(page.text) for page in pages}
    assert process != os.getpid()
    await processor.close()
    with pytest.raises(ProcessLookupError):  # not even a zombie
        os.kill(process, 0)


DEATHS = {
    "crash": "the reader died (signal 11)",
    "hang": "it took longer than 0.6 s to read",
    "eat 200000000": "it needed more than 128 MiB of memory to read",
    "leave": "the reader ended (status 7)",
}


async def test_what_kills_its_reader_costs_its_page_until_its_site_is_given_up(processor: Processor) -> None:
    whats = ["one", "crash", "two", *list(DEATHS)[1:], "three"]
    waiting = [told(processor, what, f"http://{number}.bad.test/") for number, what in enumerate(whats)]
    *pages, other = await asyncio.gather(*waiting, told(processor, "four", "http://good.test/"))
    assert {what: page.fault for what, page in zip(whats, pages, strict=True)} == {
        **dict.fromkeys(whats, ""),
        **DEATHS,
        "three": "too many documents of its site could not be read",
    }
    assert pages[1] == Page("http://1.bad.test/", media_type="application/x-told", fault=DEATHS["crash"])
    assert (pages[0].title, other.title) == ("one", "four")
    assert pages[0].text != other.text  # another process


async def test_what_a_reader_does_wrong_without_dying_costs_its_page_only(processor: Processor) -> None:
    pages = [await told(processor, what) for what in ("one", "print", "raise", "exit", "eat 20000000", "two")]
    name = "tests.process.own_processors.does_as_told"
    assert [page.fault for page in pages] == [
        "",
        "",
        f"{name} failed: KeyError: 'a bug'",
        f"{name} failed: SystemExit: 7",
        "",
        "",
    ]
    assert pages[0].text == pages[-1].text  # the same process all the time


async def test_an_asker_that_gives_up_gets_nobody_else_its_answer(processor: Processor) -> None:
    await told(processor, "started")
    asked = asyncio.create_task(told(processor, "sleep 0.25"))
    waiting = asyncio.create_task(told(processor, "cancelled in line"))
    next_one = asyncio.create_task(told(processor, "the next"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await asked
    waiting.cancel()
    assert (await next_one).title == "the next"
    assert (await told(processor, "after that")).title == "after that"


async def test_a_process_that_was_killed_between_two_documents_is_replaced(processor: Processor) -> None:
    first = await told(processor, "one")
    os.kill(int(first.text), signal.SIGKILL)
    while Path(f"/proc/{first.text}").exists():  # noqa: ASYNC110 - it sets no event here
        await asyncio.sleep(0)
    for _ in range(10):  # turns of the loop in which it hears of that
        await asyncio.sleep(0)
    assert (await told(processor, "two")).fault == ""


async def test_a_suspect_is_read_in_the_sandbox_whatever_its_type(processor: Processor) -> None:
    suspect = await processor.process(URL, fetched(b"<title>x</title>", "Content-Type: text/html"), is_suspect=True)
    assert (suspect.title, processor._sandbox._child is not None) == ("x", True)
    picture = await processor.process(URL, fetched(b"GIF89a\1\0\2\0", "Content-Type: image/gif"), is_suspect=True)
    assert (picture.width, picture.height) == (1, 2)


async def test_a_reader_that_somebody_else_kills_proves_nothing_against_its_document(processor: Processor) -> None:
    first = await told(processor, "one")
    asked = asyncio.create_task(told(processor, "sleep 0.1"))
    while processor._sandbox._child is None or processor._sandbox._child.documents < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    os.kill(int(first.text), signal.SIGKILL)
    assert (await asked).fault == ""
    with pytest.raises(OSError, match=r"signal 9") as short:  # twice in a row
        await told(processor, "kill")
    assert short.value.errno == errno.ENOMEM


async def test_what_finds_no_memory_is_read_by_another_reader_and_its_site_is_not_blamed(
    processor: Processor,
) -> None:
    for _ in range(10):
        pid = int((await told(processor, "one")).text)
        has_bytes = int(Path(f"/proc/{pid}/status").read_text().partition("VmSize:")[2].split()[0]) * 1024
        resource.prlimit(pid, resource.RLIMIT_AS, (has_bytes, has_bytes))
        page = await told(processor, "eat 20000000")
        assert (page.fault, page.text == str(pid)) == ("", False)


async def test_the_end_of_the_crawl_waits_for_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "HURRY_S", 0.05)
    processor = Processor(process=ProcessSettings(time_s_max=60))
    waiting = [asyncio.create_task(told(processor, "hang", f"http://{number}.test/")) for number in range(30)]
    await asyncio.sleep(0)
    processor.hurry()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(end) for end in ends} == {NotRead}  # long before half an hour
    await processor.close()


async def test_the_event_loop_goes_on_while_a_large_page_is_read(processor: Processor) -> None:
    urls = "".join(f"<url><loc>http://a.test/{number}</loc></url>" for number in range(50_000))
    with tempfile.TemporaryFile() as file:
        file.write(f"<urlset>{urls}</urlset>".encode())
        file.flush()
        body = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # as large bodies come
    large = Processor()
    reading = asyncio.create_task(large.process(URL, fetched(body, "Content-Type: text/xml")))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0.001)
        turns += 1
    page = await reading
    await large.close()
    assert (len(page.links), page.media_type, page.fault) == (50_000, "text/xml", "")
    assert turns > 50


async def test_a_pdf_is_read_in_the_sandbox_and_a_bomb_is_only_a_fault() -> None:
    processor = Processor(process=ProcessSettings(memory_bytes_max=64 * MIB))
    declared = "Content-Type: application/pdf"
    page = await processor.process(URL, fetched(pdf_of([b"Hello"], title=b"Hi"), declared))
    assert (page.title, page.text) == ("Hi", "Hello")
    bomb = await processor.process(URL, fetched(pdf_bomb(1 << 30), declared))
    assert bomb.text == "" and bomb.links == []
    assert bomb.fault.startswith(("the reader died (signal", "it needed more than 64 MiB"))
    await processor.close()


def test_under_the_loop_that_workers_use_it_is_the_same() -> None:
    async def story() -> list[Page]:
        processor = Processor(process=LIMITS)
        pages = [await told(processor, what) for what in ("one", "crash", "x" * 200_000)]
        with suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await told(processor, "sleep 0.2")
        pages.append(await told(processor, "three"))
        await processor.close()
        return pages

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        pages = runner.run(story())
    assert [page.title for page in pages] == ["one", "", "x" * 200_000, "three"]
    assert pages[1].fault == DEATHS["crash"]


PARENT = """
import asyncio, os, signal, sys
from gossamer.process.processor import Processor
from tests.process import own_processors
from tests.process.documents import fetched

async def main():
    processor = Processor()
    page = await processor.process("http://a.test/", fetched(b"x", "Content-Type: application/x-told"))
    assert "pypdfium2" not in sys.modules  # it is for the sandbox
    print(page.text, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_no_process_outlives_its_worker() -> None:
    parent = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL
    with suppress(ProcessLookupError):  # gone already
        left = os.pidfd_open(int(parent.stdout))
        assert select.select([left], [], [], 10)[0]
        os.close(left)
