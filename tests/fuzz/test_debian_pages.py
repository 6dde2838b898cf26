from __future__ import annotations

import pytest

from tests.fuzz.debian_pages import folder, pages_in, read_all

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
