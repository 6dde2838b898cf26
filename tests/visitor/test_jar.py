"""A jar keeps what a site may set, sends it where it belongs, and stays small."""

from __future__ import annotations

import pytest

from gossamer.visitor.cookies import COOKIES_MAX, JAR_BYTES_MAX, Jar, date_in, sent_to, with_answer

NOW = 1_790_000_000.0
URL = "https://www.example.co.uk/shop/cart"


def jar_of(*values: str, url: str = URL, jar: Jar = ()) -> Jar:
    head = "HTTP/1.1 200 OK\r\n" + "".join(f"Set-Cookie: {value}\r\n" for value in values)
    return with_answer(jar, head.encode("latin-1"), url, NOW)


@pytest.mark.parametrize(
    ("value", "url", "is_sent"),
    [
        ("a=1", "https://www.example.co.uk/shop/other", True),
        ("a=1", "https://www.example.co.uk/elsewhere", False),  # its path is that of the page that set it
        ("a=1; Path=/", "https://www.example.co.uk/elsewhere", True),
        ("a=1; Path=/shop", "https://www.example.co.uk/shopping", False),
        ("a=1; Path=/", "https://example.co.uk/", False),  # of that host alone
        ("a=1; Path=/", "https://sub.www.example.co.uk/", False),
        ("a=1; Path=/; Domain=example.co.uk", "https://sub.example.co.uk/", True),
        ("a=1; Path=/; Domain=.Example.CO.UK", "https://example.co.uk/", True),
        ("a=1; Path=/; Domain=co.uk", "https://www.example.co.uk/", False),  # a public suffix: not kept at all
        ("a=1; Path=/; Domain=other.example.co.uk", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Domain=example.org", "https://example.org/", False),
        ("a=1; Path=/; Secure", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Secure", "http://www.example.co.uk/", False),
        ("a=1; Path=/", "http://www.example.co.uk:8080/", True),
        ("a=1; Path=/; Max-Age=0", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Expires=Thu, 01-Jan-70 00:00:01 GMT", "https://www.example.co.uk/", False),
        ("__Host-a=1; Path=/; Secure", "https://www.example.co.uk/", True),
        ("__Host-a=1; Path=/; Secure; Domain=example.co.uk", "https://www.example.co.uk/", False),
        ("__Secure-a=1; Path=/", "https://www.example.co.uk/", False),
        ("a=b\x01c; Path=/", "https://www.example.co.uk/", False),
        (f"a={'x' * 5000}; Path=/", "https://www.example.co.uk/", False),
    ],
)
def test_a_cookie_goes_where_it_belongs(value: str, url: str, is_sent: bool) -> None:
    assert bool(sent_to(jar_of(value), url, NOW)) == is_sent


def test_secure_cannot_be_set_without_tls_and_addresses_have_no_domains() -> None:
    assert jar_of("a=1; Secure", url="http://www.example.co.uk/") == ()
    assert jar_of("a=1; Domain=0.0.1", url="http://127.0.0.1/") == ()
    assert (
        sent_to(jar_of("a=1; Path=/; Domain=127.0.0.1", url="http://127.0.0.1/"), "http://127.0.0.1/", NOW) == "a=1"
    )


def test_a_cookie_is_replaced_deleted_and_ends() -> None:
    jar = jar_of("a=1; Path=/", "b=2; Path=/; Max-Age=100")
    assert sent_to(jar, URL, NOW) == "a=1; b=2" and sent_to(jar, URL, NOW + 200) == "a=1"
    assert sent_to(jar_of("a=3; Path=/", jar=jar), URL, NOW) == "a=3; b=2"
    assert sent_to(jar_of("a=; Path=/; Max-Age=-1", jar=jar), URL, NOW) == "b=2"


def test_an_answer_that_says_nothing_new_leaves_the_very_same_jar() -> None:
    jar = jar_of("a=1; Path=/; Max-Age=1000")
    assert jar_of("a=1; Path=/; Max-Age=1001", jar=jar) is jar
    assert jar_of(jar=jar) is jar


def test_a_jar_is_bounded_whatever_a_server_sends() -> None:
    jar = jar_of(*(f"n{number}=1; Path=/" for number in range(500)))
    assert len(jar) == COOKIES_MAX
    for host in range(40):
        url = f"https://h{host}.example.co.uk/"
        jar = jar_of(*(f"n{number}={'x' * 1000}; Path=/" for number in range(50)), url=url, jar=jar)
    assert sum(cookie.bytes for cookie in jar) <= JAR_BYTES_MAX
    assert len(sent_to(jar, "https://h39.example.co.uk/", NOW)) <= 8 << 10


@pytest.mark.parametrize(
    "text", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
)
def test_dates_are_read_as_servers_write_them(text: str) -> None:
    assert date_in(text) == 784_111_777.0
    assert date_in("never") is None
