from __future__ import annotations

import random

import pytest

from gossamer.process import pdf
from gossamer.process.processor import Processor
from tests.process.documents import fetched, pdf_of
from tests.process.documents import pdf as file_of

URL = "http://a.test/dir/doc.pdf"


def test_a_pdf_gives_title_text_and_the_links_that_can_be_clicked() -> None:
    body = pdf_of([b"Hello World", b"http://printed.test/ Second"], title=b"A  title", address=b"../x?b=1&a=2#part")
    page = pdf.process(body, URL)
    assert (page.media_type, page.title, page.description) == ("application/pdf", "A title", "a short test")
    assert page.text == page.main_text == "Hello World http://printed.test/ Second"
    assert [(link.url, link.anchor, link.source) for link in page.links] == [
        ("http://a.test/x?a=2&b=1", "Hello World", URL)
    ]


@pytest.mark.parametrize(
    "address", [b"javascript:app.alert(1)", b"file:///etc/passwd", b"mailto:a@a.test", b"", b"#x"]
)
def test_what_leads_to_no_other_page_is_not_a_link(address: bytes) -> None:
    found = pdf.process(pdf_of([b"Hello"], address=address), URL).links
    assert [link.url for link in found] in ([], [URL])


LOCKED = b"/Encrypt << /Filter /%b /V 1 /R 2 /O (%b) /U (%b) /P -4 >> /ID [(0123456789abcdef) (0123456789abcdef)]"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"%PDF-1.7", "it is not a PDF, or broken beyond repair"),
        (b"<html>no", "it is not a PDF, or broken beyond repair"),
        (pdf_of([b"Hello"])[:300], "it is not a PDF, or broken beyond repair"),
        (pdf_of([b"Hello"], trailer=LOCKED % (b"Standard", b"o" * 32, b"u" * 32)), "the PDF wants a password"),
        (
            pdf_of([b"Hello"], trailer=LOCKED % (b"Other", b"o" * 32, b"u" * 32)),
            "the PDF is locked in a way that nobody here knows",
        ),
    ],
    ids=["empty", "html", "cut", "password", "unknown lock"],
)
def test_why_a_pdf_cannot_be_read_is_said(body: bytes, fault: str) -> None:
    page = pdf.process(body, URL)
    assert (page.fault, page.text, page.links) == (fault, "", [])


def test_a_page_that_is_broken_leaves_the_others() -> None:
    whole = pdf_of([b"First", b"Second", b"Third"])
    broken = whole.replace(b"/Kids [6 0 R 8 0 R 10 0 R]", b"/Kids [6 0 R 2 0 R 10 0 R]")
    assert broken != whole
    assert "Third" in pdf.process(broken, URL).text


def test_a_page_that_is_its_own_parent_ends() -> None:
    body = file_of(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9999999 >>")
    assert pdf.process(body, URL).text == ""


def test_text_pages_and_links_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pdf_of([b"word"] * 20)
    monkeypatch.setattr(pdf, "PAGES_MAX", 10)
    assert pdf.process(body, URL).text.count("word") == 10
    monkeypatch.setattr(pdf, "TEXT_CHARS_MAX", 12)
    assert pdf.process(body, URL).text == "word word wo"


async def test_damage_makes_a_page_all_the_same() -> None:
    chance, processor = random.Random(7), Processor()
    for _ in range(200):
        body = bytearray(pdf_of([b"Hello World"], title=b"A title", address=b"/x"))
        for _ in range(chance.randint(1, 10)):
            body[chance.randrange(5, len(body))] = chance.randrange(256)
        page = await processor.process(URL, fetched(bytes(body), "Content-Type: application/pdf"))
        assert (page.url, page.media_type) == (URL, "application/pdf")
        assert "reader" not in page.fault
    await processor.close()
