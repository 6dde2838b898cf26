from __future__ import annotations

from collections.abc import Iterator

import pytest

from gossamer.outlinks import links_of
from gossamer.records import Exchange, Lease, Link, Moved, Outcome
from gossamer.url.canonical import canonicalize, choose
from tests.cases import rows


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://example.com/a#b", "http://example.com/a"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/%7Euser/%61", "http://example.com/~user/a"),
        ("http://example.com/a%2fb%c3%a9", "http://example.com/a%2Fb%C3%A9"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://example.com/100%", "http://example.com/100%"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]/", "http://[::1]/"),
        ("  http://example.com/a\n/b  ", "http://example.com/a/b"),
    ],
)
def test_one_page_has_one_text(url: str, canonical: str) -> None:
    assert canonicalize(url) == canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("?b=2&a=1", "?a=1&b=2"),
        ("?a=2&b=1&a=1", "?a=2&a=1&b=1"),  # the order of one name's values may matter
        ("?a=1&a=1", "?a=1&a=1"),
        ("?b&a=", "?a=&b"),
        ("?q=a+b%20c", "?q=a+b%20c"),
        ("?q=%FF%fe", "?q=%FF%FE"),  # not text in any encoding we know, and none of our business
        ("?", ""),
        ("?&&a=1&", "?a=1"),
        ("?utm_source=x&UTM_Medium=y&id=7&gclid=z&fbclid=w", "?id=7"),
        ("?utm%5Fsource=x", ""),
    ],
)
def test_a_query_is_sorted_and_freed_of_tracking(query: str, canonical: str) -> None:
    assert canonicalize(f"http://a.test/p{query}") == f"http://a.test/p{canonical}"


@pytest.mark.parametrize(
    ("rest", "canonical"),
    [
        ("p?PHPSESSID=cdc993a493e899bed04f4d0c8a462a03", "p"),
        ("p;jsessionid=1E6FEC0D14D0?x=1", "p?x=1"),
        (";jsessionid=1E6FEC0D14D0", ""),
        ("p;v=1;jsessionid=1E6F;w=2", "p;v=1;w=2"),
        ("p?sid=0123456789abcdef", "p"),
        ("p?sid=4711", "p?sid=4711"),  # a story
        ("p?session=keynote", "p?session=keynote"),  # of a conference
        ("p?s=garden-chairs", "p?s=garden-chairs"),  # a search
        ("p?ASPSESSIONIDQSTT=ABC", "p"),
        ("a/..;jsessionid=1/b", "a/..;jsessionid=1/b"),  # without it, the path would mean another place
    ],
)
def test_sessions_are_dropped_and_honest_parameters_stay(rest: str, canonical: str) -> None:
    assert canonicalize(f"http://a.test/{rest}") == f"http://a.test/{canonical}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "page.html",
        "//a.test/",
        "mailto:a@a.test",
        "javascript:void(0)",
        "data:text/html,hello",
        "ftp://a.test/",
        "file:///etc/passwd",
        "http://",
        "http://a b/",
        "http://a.test:99999/",
        "http://[::1/",
        "http://\ud800/",
        "http://a.test/" + "a" * 10_000,
        "x" * 1_000_000,
    ],
)
def test_what_cannot_be_crawled_is_none(url: str) -> None:
    assert canonicalize(url) is None


def test_a_reference_is_resolved_against_its_page() -> None:
    page = "http://a.test/docs/page.html?x=1"
    assert canonicalize("other.html", page) == "http://a.test/docs/other.html"
    assert canonicalize("/top", page) == "http://a.test/top"
    assert canonicalize("//b.test/x", page) == "http://b.test/x"
    assert canonicalize("?y=2", page) == "http://a.test/docs/page.html?y=2"
    assert canonicalize("#part", page) == page
    assert canonicalize("mailto:a@a.test", page) is None


# --- Parameters of a crawl's own ---


@pytest.fixture
def usual() -> Iterator[None]:
    """What a process chooses holds for all of it, so the next test gets the usual choice back."""
    yield
    choose()


@pytest.mark.usefixtures("usual")
def test_a_crawl_can_drop_further_parameters() -> None:
    choose(dropped=["color", "Ansicht", "f_*", "größe"])
    page = "http://a.test/p?"
    assert canonicalize(f"{page}COLOR=red&id=7&ansicht=2") == f"{page}id=7"
    assert canonicalize(f"{page}f_size=9&f_=1&f=2") == f"{page}f=2"
    assert canonicalize(f"{page}gr%C3%B6%C3%9Fe=1&größe=2&x=1") == f"{page}x=1"
    assert canonicalize(f"{page}utm_source=x&colors=2") == f"{page}colors=2"


@pytest.mark.usefixtures("usual")
def test_a_star_alone_drops_every_query() -> None:
    choose(dropped=["*"], kept=["id"])
    assert canonicalize("http://a.test/p?b=1&a=2&=3") == "http://a.test/p"
    assert canonicalize("http://a.test/p?b=1&id=2") == "http://a.test/p?id=2"


@pytest.mark.usefixtures("usual")
def test_a_crawl_can_keep_what_is_usually_dropped() -> None:
    choose(kept=["utm_source", "jsessionid", "SID", "pk_*", "hsa_*"])
    session = "0123456789abcdef"
    for url in (
        "http://a.test/p?utm_source=x",
        "http://a.test/p;jsessionid=1E6F",
        f"http://a.test/p?sid={session}",
        "http://a.test/p?hsa_cam=1&pk_campaign=1",
    ):
        assert canonicalize(url) == url
    assert (
        canonicalize(f"http://a.test/p;phpsessid=1?utm_medium=x&session={session}&hsb=1") == "http://a.test/p?hsb=1"
    )


@pytest.mark.usefixtures("usual")
def test_what_is_both_dropped_and_kept_is_kept() -> None:
    choose(dropped=["f_*", "view"], kept=["f_size", "view"])
    assert canonicalize("http://a.test/p?f_size=1&f_color=2&view=3") == "http://a.test/p?f_size=1&view=3"


@pytest.mark.usefixtures("usual")
def test_only_the_schemes_that_were_chosen_are_crawled() -> None:
    page = "https://a.test/x/y"
    assert canonicalize("z", page) == "https://a.test/x/z"
    choose(schemes=["http", "ftp"])
    assert canonicalize("z", page) is None
    assert canonicalize("https://a.test/") is None
    assert canonicalize("z?b&a", "ftp://a/x/y") == "ftp://a/x/z?a&b"


# --- Cases that others wrote ---


def test_parsing_is_that_of_the_url_standard() -> None:
    for row in rows("urls/wpt_urltestdata"):
        canonical = canonicalize(row["input"], row["base"])
        if row["crawlable"] and not row["failure"]:
            # Our own rules come on top: their result for the expected URL is what we must say.
            assert canonical == canonicalize(row["expected"]), row["id"]
            assert canonical is not None, row["id"]
            assert canonical.startswith(f"{row['parts']['protocol']}//{row['parts']['host']}/"), row["id"]
        else:
            assert canonical is None, row["id"]


def test_our_rules_change_nothing_else_about_the_urls_of_the_standard() -> None:
    for row in rows("urls/wpt_urltestdata"):
        expected = row["expected"]
        if row["failure"] or not row["crawlable"] or "%" in expected or "&" in expected or "@" in expected:
            continue
        without_fragment = expected.partition("#")[0]
        assert canonicalize(row["input"], row["base"]) == without_fragment.removesuffix("?"), row["id"]


def test_relative_references_resolve_as_in_crawler_commons() -> None:
    for row in rows("urls/crawler_commons_resolve"):
        if row["base"].startswith("file:"):
            assert canonicalize(row["input"], row["base"]) is None, row["id"]
        else:
            expected = canonicalize(row["expected"])
            assert expected is not None, row["id"]
            assert canonicalize(row["input"], row["base"]) == expected, row["id"]


# Rows of Nutch's normaliser that ask for what DESIGN.md does not have, by their numbers.
NUTCH_DIFFERS = {
    "xyz is too short for a session id; sid is a story on many sites": {10},
    "index.html and default.asp are not always what the bare folder answers": {*range(17, 30), *range(33, 42)}
    | {43, *range(45, 57)},
    "the question mark is part of the fragment (WHATWG URL)": {61},
    "doubled slashes are kept, since servers tell them apart": {65, 66},
    "a scope that rewrites hosts, an example of Nutch's": {69, 70, 71},
}


def test_sessions_and_empty_parameters_go_as_in_nutch() -> None:
    differs = {f"nutch-regex-{number}" for numbers in NUTCH_DIFFERS.values() for number in numbers}
    for row in rows("urls/nutch_regex_normalizer"):
        agrees = canonicalize(row["input"]) == canonicalize(row["expected"])
        assert agrees == (row["id"] not in differs), row["id"]


def test_the_page_behind_a_redirect_is_known_by_its_own_url() -> None:
    """Nutch keeps the shorter or the first URL of some redirects for the page.

    With us a redirect is an answer, and its target is another URL with a record of its own (DESIGN.md 6, Status):
    what is stored always stands under the URL that answered with it. Where Nutch takes the source, rows differ.
    """
    differs = {2, 3, 6, 9, 10}
    for number, row in enumerate(rows("urls/nutch_redirect_representative")):
        source, target = canonicalize(row["src"]), canonicalize(row["dst"])
        assert source is not None and target is not None
        exchange = Exchange(b"", b"", 302 if row["temporary_redirect"] else 301, "127.0.0.1", 0.0, 0.0, 0.0)
        outcome = Outcome(Lease(Link(source), "", 0.0), Moved(exchange, b"", target))
        [link] = links_of(outcome)
        agrees = link.url == canonicalize(row["expected_representative"])
        assert agrees == (number not in differs), row
