"""Rows 72 to 85: redirects that lead nowhere, inside, around in circles, or are none. And row 122: passwords."""

from __future__ import annotations

from gossamer.records import Reason
from tests.hostile.behaviours.rows import Play, Row, Wanted, failed, moved, play, played, proven
from tests.hostile.server import answer, blurts, says

NOWHERE = failed(Reason.BAD_REDIRECT)
BASE = "http://127.0.0.1:{port}"


def to(location: str | bytes, wanted: Wanted, *, path: str = "/a/page", status: str = "302 Found") -> Play:
    text = location if isinstance(location, bytes) else location.encode()
    return play(says(answer(b"moved", b"Location: " + text, status=status)), wanted, path=path)


def final(status: str) -> Play:
    code = int(status[:3])
    body = b"" if code == 304 else b"<p>choose"
    return play(
        says(answer(body, "Location: /elsewhere", status=status, length=code != 304)),
        failed(Reason.CLIENT_ERROR, status=code),
    )


ROWS: list[Row] = [
    proven(72, "a redirect loop", "test_crawl.py::test_redirects_end_and_every_hop_is_recorded"),
    proven(73, "a chain of a hundred redirects", "test_crawl.py::test_redirects_end_and_every_hop_is_recorded"),
    proven(74, "redirects to ever new URLs", "test_crawl.py::test_redirects_end_and_every_hop_is_recorded"),
    played(
        75,
        "a redirect without Location",
        missing=play(says(answer(b"moved", status="302 Found")), NOWHERE),
        empty=to("", NOWHERE),
    ),
    played(
        76,
        "Location is nothing to crawl",
        mailto=to("mailto:a@example.org", NOWHERE),
        javascript=to("javascript:alert(1)", NOWHERE),
        data=to("data:text/html,<p>x", NOWHERE),
        file=to("file:///etc/passwd", NOWHERE),
        gopher=to("gopher://example.org/", NOWHERE),
    ),
    played(
        77,
        "Location cannot be parsed",
        bracket=to("http://]/", NOWHERE),
        ipv6=to("http://[::1", NOWHERE),
        port=to("http://example.org:999999/", NOWHERE),
        nothing=to("http://", NOWHERE),
    ),
    played(
        78,
        "Location in every spelling",
        relative=to("../b?x#f", moved(f"{BASE}/b?x")),
        without_scheme=to("//example.org/b", moved("http://example.org/b")),
        spaces=to("/b c", moved(f"{BASE}/b%20c")),
        utf8=to("/größe".encode(), moved(f"{BASE}/gr%C3%B6%C3%9Fe")),
        # What is no UTF-8 is taken as Latin-1, as browsers do.
        latin1=to("/größe".encode("latin-1"), moved(f"{BASE}/gr%C3%B6%C3%9Fe")),
    ),
    played(
        79,
        "a redirect with a broken body",
        chunks=play(
            blurts(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\nNot a valid chunk."),
            moved(f"{BASE}/b"),
        ),
        short=play(blurts(b"HTTP/1.1 301 X\r\nLocation: /b\r\nContent-Length: 99\r\n\r\nshort"), moved(f"{BASE}/b")),
    ),
    proven(
        80,
        "a redirect to what robots.txt of another host forbids",
        "test_crawl.py::test_a_redirect_is_subject_to_the_robots_txt_of_its_target",
    ),
    played(
        81,
        "redirects between http, https, www and not",
        to_https=to("https://127.0.0.1/page", moved("https://127.0.0.1/page"), status="301 Moved"),
        to_www=to("http://www.example.org/", moved("http://www.example.org/"), status="308 Permanent"),
        to_apex=to("http://example.org/", moved("http://example.org/"), status="307 Temporary"),
    ),
    proven(82, "a redirect that leads inside", "test_names.py::test_a_redirect_that_leads_inside_is_refused"),
    proven(83, "meta refresh", "test_pages.py::test_a_refresh_is_a_link_wherever_a_browser_would_obey_it"),
    proven(84, "the Refresh header", "test_pages.py::test_a_refresh_header_counts_like_the_same_words_in_the_page"),
    played(
        85,
        "other 3xx",
        choices=final("300 Multiple Choices"),
        not_modified=final("304 Not Modified"),
        use_proxy=final("305 Use Proxy"),
        switch_proxy=final("306 Switch Proxy"),
    ),
    played(
        122,
        "401 with and without a challenge",
        none=play(says(answer(b"no", status="401 Unauthorized")), failed(Reason.CLIENT_ERROR, status=401)),
        basic=play(
            says(answer(b"no", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")),
            failed(Reason.CLIENT_ERROR, status=401),
        ),
    ),
]
