from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.text import as_utf8, decode, fold, process


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


RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему."
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
POLISH = "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są obdarzeni rozumem."
HUNGARIAN = "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Árvíztűrő tükörfúrógép."


@pytest.mark.parametrize(
    ("text", "codecs"),
    [
        (RUSSIAN, ["cp1251", "koi8-r", "iso8859-5", "cp866"]),
        ("Як умру, то поховайте мене на могилі, серед степу широкого, на Вкраїні милій.", ["cp1251", "koi8-u"]),
        ("Σε γνωρίζω από την κόψη του σπαθιού την τρομερή, σε γνωρίζω από την όψη.", ["cp1253", "iso8859-7"]),
        ("בראשית ברא אלהים את השמים ואת הארץ והארץ היתה תהו ובהו וחשך על פני תהום", ["cp1255"]),
        ("يولد جميع الناس أحرارا متساوين في الكرامة والحقوق وقد وهبوا عقلا وضميرا", ["cp1256"]),
        ("มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ", ["cp874"]),
        (JAPANESE, ["cp932", "euc_jp", "iso2022_jp"]),
        ("모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.", ["cp949"]),
        ("人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。我们的国家是一个大的国家", ["gb18030"]),
        ("人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心。我們的國家是一個大的國家", ["big5hkscs"]),
        ("Die Würde des Menschen ist unantastbar. Größe, Übung, schön, über, für, müssen, außen.", ["cp1252"]),
        ("Tous les êtres humains naissent libres et égaux en dignité; été, où, ça, garçon, très.", ["cp1252"]),
        (POLISH, ["cp1250", "iso8859-2"]),
        (HUNGARIAN, ["cp1250", "iso8859-2"]),
        ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.", ["cp1254"]),
        ("Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās. Viņi ir apveltīti.", ["cp1257"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_what_declares_nothing_is_read_as_what_it_looks_like(text: str, codecs: list[str]) -> None:
    for codec in codecs:
        page = f"<html><body class=a><p>{text}</p></body></html>"
        assert decode(page.encode(codec), "text/html")[0] == page, codec


def test_a_declaration_counts_more_than_what_it_looks_like() -> None:
    body = RUSSIAN.encode("cp1251")
    assert decode(body, "text/html; charset=koi8-r") == (body.decode("koi8-r"), "koi8-r")


@given(st.binary(), st.one_of(st.none(), st.text()))
def test_any_bytes_give_a_text(body: bytes, content_type: str | None) -> None:
    text, _ = decode(body, content_type)
    text.encode()


@given(st.binary(), st.sampled_from([None, "text/html; charset=utf-8", "x; charset=utf-16", "x; charset=koi8-r"]))
def test_in_utf8_a_body_is_the_same_text(body: bytes, content_type: str | None) -> None:
    text, codec = decode(body, content_type)
    markup, same = as_utf8(body, content_type)
    assert (markup.decode("utf-8", "replace"), same) == (text, codec)


def test_plain_text_is_folded_and_holds_no_links() -> None:
    page = process(b"see  http://b.test/\r\n\r\nor not", "http://a.test/x.txt")
    assert page.text == "see http://b.test/ or not"
    assert page.links == []


def test_folding_leaves_single_spaces() -> None:
    assert fold(" a\n\tb\xa0\u3000c ") == "a b c"
