from __future__ import annotations

import pytest

from gossamer.url.canonical import canonicalize
from gossamer.url.site import ascending, host_of, origin_of, site_of
from tests.cases import rows


def test_host_and_origin_of_a_url() -> None:
    assert host_of("https://www.example.com/a?b=http://c/") == "www.example.com"
    assert origin_of("https://www.example.com/a?b=http://c/") == "https://www.example.com"
    assert host_of("http://example.com:8080/") == "example.com"
    assert origin_of("http://example.com:8080/") == "http://example.com:8080"


def test_the_host_of_an_ipv6_address_is_without_brackets_and_its_origin_with_them() -> None:
    assert host_of("http://[::1]:8080/a") == "::1"
    assert origin_of("http://[::1]:8080/a") == "http://[::1]:8080"


def test_an_origin_is_understood_like_a_url() -> None:
    assert host_of("http://[::1]:8080") == "::1"
    assert host_of("https://example.com") == "example.com"


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("somebody.github.io", "somebody.github.io"),  # a private suffix
        ("example.com.", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("localhost", "localhost"),
        ("co.uk", "co.uk"),
        ("github.io", "github.io"),
        ("com", "com"),
        ("host1.test", "host1.test"),
        ("a.host1.test", "host1.test"),
    ],
)
def test_a_site_is_what_somebody_registered(host: str, site: str) -> None:
    assert site_of(host) == site


@pytest.mark.parametrize(
    ("url", "folders"),
    [
        ("http://a.test/a/b/c.html", ["http://a.test/a/b/", "http://a.test/a/", "http://a.test/"]),
        ("http://a.test/a/b/", ["http://a.test/a/", "http://a.test/"]),
        ("http://a.test/a", ["http://a.test/"]),
        ("http://a.test/", []),
        ("http://a.test/a/?page=2/3", ["http://a.test/a/", "http://a.test/"]),
        ("http://a.test/?q=1", ["http://a.test/"]),
        ("https://[::1]:8080/a//b", ["https://[::1]:8080/a//", "https://[::1]:8080/a/", "https://[::1]:8080/"]),
        ("ftp://a/b", ["ftp://a/"]),
    ],
)
def test_a_url_lies_in_the_folders_above_it(url: str, folders: list[str]) -> None:
    assert ascending(url) == folders


# Rows of the public suffix list's own test that hold no name a URL can have, so no site is asked for.
NOT_A_HOST = {None, ".....", ".com", ".example", ".example.com", ".example.example"}


def test_sites_follow_the_public_suffix_list() -> None:
    for row in rows("urls/psl_registrable_domain"):
        if row["host"] in NOT_A_HOST:
            assert row["expected_registrable_domain"] is None
            continue
        url = canonicalize(f"http://{row['host']}/")
        assert url is not None, row["host"]
        host = host_of(url)
        expected = row["expected_registrable_domain"]
        # What has no registrable domain is its own site. Hosts arrive here in their ASCII form.
        wanted = canonicalize(f"http://{expected or host}/")
        assert wanted is not None
        assert site_of(host) == host_of(wanted), row["host"]
