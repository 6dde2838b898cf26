"""Processors of the user's own: by decorator, and by the entry point of a package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.config import ConfigError
from gossamer.process.media_types import OWN, load_own, processes
from gossamer.process.processor import Processor
from gossamer.records import Link, Page
from gossamer.settings import ProcessSettings
from tests.process import own_processors
from tests.process.documents import fetched

URL = "http://a.test/dir/x"
RECIPE = b"Pancakes\nsee waffles\nsee http://b.test/?b=1&a=2#top\nsee mailto:cook@a.test\n" + b"stir " * 300


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    """What a test registers is gone afterwards."""
    before = OWN.copy()
    yield
    OWN.clear()
    OWN.update(before)


async def read(body: bytes, declared: str, processor: Processor | None = None) -> Page:
    return await (processor or Processor()).process(URL, fetched(body, f"Content-Type: {declared}"))


async def test_a_decorated_function_reads_its_media_type_and_its_links_become_canonical() -> None:
    page = await read(RECIPE, "text/x-recipe; charset=utf-8")
    assert (page.media_type, page.title, page.words > 0) == ("text/x-recipe", "Pancakes", True)
    assert [link.url for link in page.links] == ["http://a.test/dir/waffles", "http://b.test/?a=2&b=1"]


async def test_it_is_found_by_the_sandbox_too() -> None:
    processor = Processor(process=ProcessSettings(aside_bytes=1024))
    page = await read(RECIPE, "text/x-recipe", processor)
    await processor.close()
    assert page == await read(RECIPE, "text/x-recipe")


async def test_it_goes_before_ours_and_its_type_is_believed() -> None:
    @processes("text/plain", "application/x-page")
    def shout(body: bytes, url: str, content_type: str | None) -> Page:
        return Page("http://elsewhere.test/", text=body.decode().upper())

    page = await read(b"hello", "text/plain")
    assert (page.url, page.text) == (URL, "HELLO")
    assert (await read(b"<html>hello", "application/x-page")).text == "<HTML>HELLO"
    assert (await read(b"<html>hello", "text/plain")).media_type == "text/html"  # of ours, doubted as ever


@pytest.mark.parametrize(
    ("raised", "fault"),
    [
        (KeyError("a bug"), "failed: KeyError: 'a bug'"),
        (RecursionError(), "failed: RecursionError"),
        (SystemExit(3), "failed: SystemExit: 3"),
        (UnicodeError("odd"), "it cannot be read: odd"),
    ],
)
async def test_what_it_raises_costs_the_page_and_not_the_worker(raised: BaseException, fault: str) -> None:
    @processes("text/x-bad")
    def fails(body: bytes, url: str, content_type: str | None) -> Page:
        raise raised

    page = await read(b"x", "text/x-bad")
    assert page.fault.endswith(fault) and page.media_type == "text/x-bad"


@pytest.mark.parametrize("given", [None, "text", [Page(URL)]])
async def test_what_is_no_page_is_a_fault(given: object) -> None:
    @processes("text/x-bad")
    def gives(body: bytes, url: str, content_type: str | None) -> Page:
        return given  # type: ignore[return-value]

    assert f"it gave {type(given).__name__} and not a Page" in (await read(b"x", "text/x-bad")).fault


async def test_what_another_process_cannot_find_is_read_in_this_one() -> None:
    @processes("text/x-local")
    def local(body: bytes, url: str, content_type: str | None) -> Page:
        return Page(url, text=body.decode(), links=[Link("/x")])

    processor = Processor(process=ProcessSettings(aside_bytes=1024))
    assert (await read(b"x" * 2000, "text/x-local", processor)).text == "x" * 2000
    with pytest.raises(ValueError, match="has to be in a module that can be imported"):
        processes("text/x-local", sandbox=True)(local)


def test_nonsense_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="'recipe' is not a media type"):
        processes("recipe")(own_processors.recipe)
    with pytest.raises(ValueError, match=r"two processors for text/x-recipe: tests\.\S+recipe and tests\.\S+told"):
        processes("text/x-recipe")(own_processors.does_as_told)


def package(folder: Path, point: str, code: str) -> None:
    about = folder / "kitchen-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kitchen\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[gossamer.processors]\n{point}\n")
    (folder / f"{point.partition(' = ')[2].partition(':')[0]}.py").write_text(code)


KITCHEN = """
import os
from gossamer.process.media_types import processes
from gossamer.records import Page

@processes("text/x-menu", sandbox=True)
def menu(body, url, content_type):
    return Page(url, title=body.decode(), text=str(os.getpid() == int(content_type.split("=")[1])))
"""


@pytest.mark.parametrize("named", ["kitchen_a:menu", "kitchen_b"])
async def test_a_package_of_the_users_own_adds_a_media_type(
    folder: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    package(folder, f"menus = {named}", KITCHEN)
    monkeypatch.syspath_prepend(folder)
    processor = Processor()
    page = await read(b"Soup", f"text/x-menu; process={os.getpid()}", processor)
    await processor.close()
    assert (page.title, page.text, page.fault) == ("Soup", "False", "")


@pytest.mark.parametrize(
    ("point", "code", "said"),
    [
        (
            "menus = kitchen_c:menu",
            "import no_such_module",
            "gossamer.processors: menus = kitchen_c:menu of kitchen cannot be loaded: "
            "ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("menus = kitchen_d:soup", KITCHEN, "AttributeError: module 'kitchen_d' has no attribute 'soup'"),
        (
            "menus = kitchen_e:menu",
            "def menu(body, url, content_type): ...",
            'says of no media type that it reads it: it needs @gossamer.processes("...")',
        ),
    ],
)
def test_a_package_that_cannot_be_loaded_is_said_at_the_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, point: str, code: str, said: str
) -> None:
    package(folder, point, code)
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(ConfigError) as fault:
        load_own()
    assert said in str(fault.value)
