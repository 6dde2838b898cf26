from __future__ import annotations

import pytest

from gossamer.process import native
from tests.fuzz.debian_pages import body_of, folder, pages_in, read_all
from tests.process.comparison import differences
from tests.process.markdown.reading_back import difference

URL = "http://www.debian.test/doc/folder/page.html?a=1"
MORE = ("images", "scripts")
PAGE_S_MAX = 5.0  # of processor time; a page of 10 MB takes a second


@pytest.mark.long
def test_every_page_of_debians_documentation_is_read_without_an_error() -> None:
    where = folder()
    if len(pages_in(where)) < 100:
        pytest.skip(f"too few pages in {where}; `python -m tests.fuzz.debian_pages FOLDER` fetches some thousands")
    figures = read_all(where)
    print(figures)
    assert figures.faults == []
    assert figures.slowest_s < PAGE_S_MAX, figures.slowest
    assert figures.without_text < figures.files / 100


@pytest.mark.long
def test_markdown_of_every_page_has_its_main_text() -> None:
    where = folder()
    differ = [f"{path}: {found}" for path in pages_in(where) if (found := difference(body_of(path)))]
    assert differ == []


@pytest.mark.long
def test_both_readers_make_the_same_of_every_page() -> None:
    reader, why = native.loaded()
    if reader is None:
        pytest.skip(why)
    where = folder()
    differ = [
        f"{path}: {found}"
        for number, path in enumerate(pages_in(where))
        if (found := differences(reader, body_of(path), URL, None, MORE if number % 2 else ()))
    ]
    assert differ == []
