"""How proxies are written, and what the environment says of them."""

from __future__ import annotations

import pytest

from gossamer.config import ConfigError
from gossamer.visitor.proxies import in_environment, port_of, proxy_in, read


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://proxy.test:3128", "http://proxy.test:3128"),
        ("https://me:p%40ss@proxy.test:443/", "https://proxy.test:443"),
        ("socks5://me:a@b@10.0.0.1:1080", "socks5://10.0.0.1:1080"),
        ("socks5h://[2001:db8::1]:9050", "socks5h://[2001:db8::1]:9050"),
    ],
)
def test_what_is_shown_of_a_proxy_has_no_password(text: str, shown: str) -> None:
    proxy = proxy_in(text, "here")
    assert proxy.shown == shown and proxy.url == text.rstrip("/") and "me" not in repr(proxy)


@pytest.mark.parametrize(
    "text", ["proxy.test:3128", "http://proxy.test", "ftp://a:1", "http://a:0", "http://a:99999", ""]
)
def test_what_is_no_proxy_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="here: wanted a proxy"):
        proxy_in(text, "here")


def test_direct_and_environment_stand_alone() -> None:
    assert read(()) == read(("direct",)) == ()
    with pytest.raises(ConfigError, match="stand alone"):
        read(("environment", "http://a:1"))


def test_the_environment_is_read_as_curl_reads_it() -> None:
    said = in_environment(
        {"http_proxy": "a.test:1", "HTTPS_PROXY": "socks5h://b.test:2", "HTTP_PROXY": "http://c.test:3"}
    )
    assert [str(said.of(f"{scheme}://x.test/")) for scheme in ("http", "https", "ftp")] == [
        "Proxy(http://a.test:1)",
        "Proxy(socks5h://b.test:2)",
        "None",
    ]
    assert in_environment({"HTTP_PROXY": "http://c.test:3"}).of("http://x.test/") is None
    assert str(in_environment({"ALL_PROXY": "http://d.test:4"}).of("https://x.test/")) == "Proxy(http://d.test:4)"


@pytest.mark.parametrize(
    ("exceptions", "url", "is_direct"),
    [
        ("*", "http://x.test/", True),
        ("example.com", "http://example.com/", True),
        ("example.com", "http://www.example.com/", True),
        ("example.com", "http://badexample.com/", False),
        (".example.com", "http://a.example.com/", True),
        ("*.example.com", "http://a.example.com/", True),
        ("other.test, EXAMPLE.com", "http://example.com/", True),
        ("example.com:8080", "http://example.com:8080/", True),
        ("example.com:8080", "http://example.com/", False),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("10.0.0.0/8", "http://ten.test/", False),
        ("192.0.2.7", "http://192.0.2.7/", True),
        ("::1", "http://[::1]/", True),
        ("[2001:db8::1]:81", "http://[2001:db8::1]:81/", True),
        ("2001:db8::/32", "http://[2001:db8::1]/", True),
        ("", "http://x.test/", False),
    ],
)
def test_no_proxy_is_obeyed(exceptions: str, url: str, is_direct: bool) -> None:
    said = in_environment({"all_proxy": "http://a.test:1", "no_proxy": exceptions})
    assert (said.of(url) is None) == is_direct


def test_the_port_of_a_url() -> None:
    urls = ["http://a.test/", "https://a.test/x:1", "http://a.test:81/", "http://[::1]/", "http://[::1]:82/"]
    assert [port_of(url) for url in urls] == [80, 443, 81, 80, 82]
