from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.text import decode, fold, process


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        # In the order in which they count: byte-order mark, header, declaration, UTF-8, windows-1252.
        (b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=iso-8859-1", "é"),
        ("é".encode("utf-16"), "text/html; charset=utf-8", "é"),
        (b"<meta charset=utf-8>\xe9", "text/html; charset=ISO-8859-1", "<meta charset=utf-8>é"),
        (b"<meta charset='windows-1251'>\xe9", None, "<meta charset='windows-1251'>й"),
        (b'<meta http-equiv=content-type content="text/html;charset=koi8-r">\xca', None, None),
        (b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1", None, "<?xml version='1.0' encoding='iso-8859-2'?>ą"),
        ("é".encode(), None, "é"),
        (b"\xe9\x80", None, "é€"),
        (b"\xe9", "text/html; charset=nonsense", "é"),
    ],
)
def test_the_encoding_is_found_in_the_order_of_the_standard(
    body: bytes, content_type: str | None, text: str | None
) -> None:
    assert decode(body, content_type)[0].endswith(text or "й")


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "cp1252"),
        ("US-ASCII", "cp1252"),
        ('"utf-8"', "utf-8"),
        ("gb2312", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ("iso-8859-9", "cp1254"),
    ],
)
def test_labels_mean_what_browsers_take_them_to_mean(label: str, codec: str) -> None:
    assert decode(b"", f"text/html; charset={label}")[1] == codec


@pytest.mark.parametrize("label", ["utf-7", "unicode_escape", "rot13", "base64", "idna"])
def test_a_page_cannot_choose_a_codec_that_is_no_encoding_of_the_web(label: str) -> None:
    assert decode(b"+ADw-script", f"text/html; charset={label}")[0] == "+ADw-script"


def test_a_declaration_in_a_comment_or_too_late_does_not_count() -> None:
    assert decode(b"<!-- <meta charset=koi8-r> --> \xc3\xa9")[1] == "utf-8"
    assert decode(b" " * 1024 + b"<meta charset=koi8-r>")[1] == "utf-8"


def test_a_document_that_was_read_as_ascii_is_not_utf_16() -> None:
    assert decode(b"<meta charset=utf-16>\xc3\xa9") == ("<meta charset=utf-16>é", "utf-8")


@given(st.binary(), st.one_of(st.none(), st.text()))
def test_any_bytes_give_a_text(body: bytes, content_type: str | None) -> None:
    text, _ = decode(body, content_type)
    text.encode()


def test_plain_text_is_folded_and_holds_no_links() -> None:
    page = process(b"see  http://b.test/\r\n\r\nor not", "http://a.test/x.txt")
    assert page.text == "see http://b.test/ or not"
    assert page.links == []


def test_folding_leaves_single_spaces() -> None:
    assert fold(" a\n\tb\xa0\u3000c ") == "a b c"
