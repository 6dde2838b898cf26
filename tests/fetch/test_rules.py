"""The rules of robots.txt as RFC 9309 says: the cases of others, our own stories, hostile files, a naive matcher.

Longer than 400 lines: one file for one standard, with the cases of others.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from types import FrameType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.fetch.robots import Robots, decide, rules_of
from gossamer.fetch.rules import SHOWN_CHARS_MAX, Explanation, Field, as_written, path_of, readable, records
from gossamer.records import RobotsCopy
from gossamer.settings import RobotsSettings
from gossamer.settings.kinds import Product
from gossamer.url.canonical import canonicalize
from tests.cases import Row, rows

HOST = "http://h.test"


def body(row: Row) -> bytes:
    if "robots_txt_b64" in row:
        return base64.b64decode(row["robots_txt_b64"])
    return str(row["robots_txt"]).encode()


def robots(*lines: str) -> Robots:
    return Robots.parse("\n".join(lines).encode())


# ---- The cases of others ----------------------------------------------------------------------------------

INDEX = "google-only: to Google, index.html at the end of an Allow also means its folder; the RFC knows no such thing"
LONG = "google-only: Google cuts lines after 16,664 bytes; the RFC sets no limit, and the size of the file is one"
DIFFERENT = {
    "g-GoogleOnly_IndexHTMLisDirectory-L505-79": INDEX,
    "spec-index-page-38": INDEX,
    "g-GoogleOnly_LineTooLong-L539-84": LONG,
    "g-GoogleOnly_LineTooLong-L565-87": LONG,
}


@pytest.mark.parametrize("file", ["google_robots_test", "google_spec_test"])
def test_every_row_of_rfc_9309_is_answered_as_expected_and_the_others_differ_for_a_reason(file: str) -> None:
    cases = rows(f"robots/{file}")
    wrong = {
        row["id"]: row
        for row in cases
        if Robots.parse(body(row)).allowed(row["url"], row["user_agent"]) != row["expected_allowed"]
    }
    assert [case for case, row in wrong.items() if row["profile"] == "rfc9309"] == []
    assert wrong.keys() == DIFFERENT.keys() & {row["id"] for row in cases}


def test_lines_are_told_apart_as_expected() -> None:
    for row in rows("robots/google_parse_level"):
        fields = [record.field for record in records(readable(body(row)))]
        known = len(fields) - fields.count(Field.UNKNOWN)
        assert row["expected_valid_directives"] in (None, known), row
        assert row["expected_unknown_directives"] in (None, fields.count(Field.UNKNOWN)), row
        if row["expected_sitemap"]:
            assert Robots.parse(body(row)).sitemaps == [row["expected_sitemap"]], row


def test_paths_are_found_and_escaped_as_expected() -> None:
    for row in rows("robots/google_path_and_escape"):
        if row["kind"] == "path":
            assert path_of(row["input"]) == row["expected"], row
        else:
            assert as_written(row["input"].encode().decode("latin-1")) == row["expected"], row


def test_a_crawler_can_only_be_given_a_name_that_a_robots_txt_can_address() -> None:
    for row in rows("robots/google_valid_product_token"):
        try:
            is_valid = bool(msgspec.convert(row["user_agent"], Product))
        except msgspec.ValidationError:
            is_valid = False
        assert is_valid is row["expected_valid"], row


MARKUP = "crawler-commons removes markup; to the RFC `10<BR>` is no number"
DIFFERENT_META = {
    "cc-meta-16": "crawler-commons asks by several names at once; a crawler has one, and no line has the row's first",
    "cc-meta-22": MARKUP,
    "cc-meta-23": MARKUP,
    "cc-meta-26": "crawler-commons takes a bare URL for a forgotten `Sitemap:`; no standard does",
}


def test_crawl_delays_and_sitemaps_are_found_as_expected() -> None:
    wrong: dict[str, object] = {}
    for row in rows("robots/crawler_commons_meta"):
        found = Robots.parse(body(row))
        answer: object
        match row["kind"]:
            case "crawlDelay":
                delay_s = found.crawl_delay(row["user_agent"])
                answer = None if delay_s is None else round(delay_s * 1000)
            case "sitemaps":
                # As they are written; who fetches them joins them with the address of the robots.txt.
                answer = [canonicalize(url, "http://domain.com/robots.txt") for url in found.sitemaps]
            case _:
                answer = is_deferred(RobotsCopy(HOST, fetched_at=0.0, status=200, body=body(row)))
        if answer != row["expected"]:
            wrong[row["id"]] = answer
    assert wrong.keys() == DIFFERENT_META.keys(), wrong


DIFFERENT_STATUS = {
    301: "RFC 9309, 2.3.1.2: a file behind too many redirects MAY be taken as not there, so all is allowed; "
    "crawler-commons defers. We follow five redirects before."
}


def is_deferred(copy: RobotsCopy) -> bool:
    return decide(copy, HOST, RobotsSettings(), now=copy.fetched_at) is not None


def test_a_status_means_what_is_expected() -> None:
    wrong = set()
    for row in rows("robots/crawler_commons_http_status"):
        copy = RobotsCopy(HOST, fetched_at=0.0, status=row["robots_http_status"], body=b"User-agent: *\nDisallow: /")
        if row["kind"] == "deferVisits":
            answer = is_deferred(copy)
        else:
            answer = not is_deferred(copy) and rules_of(copy).allowed(row["url"], "gossamer")
        if answer != row["expected"]:
            wrong.add(row["robots_http_status"])
    assert wrong == DIFFERENT_STATUS.keys()


# ---- Who is spoken to -------------------------------------------------------------------------------------


def test_a_group_that_names_us_sets_the_general_one_aside_and_rules_before_any_name_are_for_nobody() -> None:
    file = robots("Disallow: /", "User-agent: *", "Disallow: /", "User-agent: Gossamer", "Disallow: /private/")
    assert file.allowed(f"{HOST}/public", "gossamer")
    assert not file.allowed(f"{HOST}/private/1", "GOSSAMER/1.0")
    assert not file.allowed(f"{HOST}/public", "other")


def test_groups_for_one_name_are_merged_wherever_they_stand() -> None:
    file = robots(
        "User-agent: gossamer",
        "Disallow: /a",
        "User-agent: other",
        "Disallow: /b",
        "User-agent: more",
        "",
        "# a comment, an empty line and unknown lines end no group",
        "Noindex: /x",
        "Sitemap: http://h.test/s.xml",
        "User-agent: gossamer",
        "Disallow: /c",
    )
    assert [file.allowed(HOST + path, "gossamer") for path in ("/a", "/b", "/c")] == [False, True, False]
    assert [file.allowed(HOST + path, "more") for path in ("/a", "/b", "/c")] == [True, True, False]


@pytest.mark.parametrize("name", ["gossamers", "go", "my-gossamer", "", "gossamer-news", "*gossamer", "5gossamer"])
def test_another_name_is_not_ours(name: str) -> None:
    assert robots(f"User-agent: {name}", "Disallow: /").allowed(HOST, "gossamer")


@pytest.mark.parametrize("name", ["gossamer/2.0", "gossamer bot", "gossamer*", "GOSSAMER # us", "gossamer<br>"])
def test_what_follows_the_name_does_not_matter(name: str) -> None:
    assert not robots(f"User-agent: {name}", "Disallow: /").allowed(HOST, "gossamer")


# ---- Which rule decides -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "path", "is_allowed"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Allow: /a\nDisallow: /a", "/a", True),  # of two equals the Allow
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Allow: /a/b\nDisallow: /*/b/", "/a/b/c", False),  # wildcards count as octets
        ("Allow: /a/b\nDisallow: /*/b", "/a/b/c", True),
        ("Disallow: /\nDisallow: /a/b\nAllow: /a", "/a/b", False),
        ("Disallow: /*a*a$", "/a", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /a$\nAllow: /", "/a", False),
        ("Disallow: /a$\nAllow: /", "/a?b", True),
        ("Disallow:", "/a", True),
        ("Disallow: /A", "/a", True),
        ("Disallow: a", "/a", True),
        ("Disallow: *.gif$", "/x/y.gif", False),
        ("Disallow: /*?", "/x?y", False),
        ("Disallow: /a;b", "/a;b=1", False),
        ("Disallow : /a", "/a", False),
        ("disalow /a", "/a", False),
        ("Disallow: /a # why", "/a", False),
        ("Disallow: /robots.txt", "/robots.txt", False),
        ("Allow: /%61\nDisallow: /ab", "/%61b", False),  # no Allow gains weight by its escapes
    ],
)
def test_the_longest_path_decides(rules: str, path: str, is_allowed: bool) -> None:
    assert robots("User-agent: *", rules).allowed(HOST + path, "gossamer") is is_allowed


@pytest.mark.parametrize(
    ("rule", "path", "is_forbidden", "is_permitted"),
    [
        ("/~joe/", "/~joe/", True, True),
        ("/%7Ejoe/", "/~joe/", True, False),  # as it is meant, and as it is written
        ("/~joe/", "/%7ejoe/", True, False),
        ("/%7Ejoe/", "/%7Ejoe/", True, True),
        ("/ツ", "/%E3%83%84", True, True),
        ("/%e3%83%84", "/%E3%83%84", True, True),
        ("/ツ", "/ツ", True, False),
        ("/a b", "/a%20b", True, True),
        ("/{a}|", "/%7Ba%7D|", True, True),
        ("/a%2fb", "/a%2Fb", True, True),
        ("/a%2Fb", "/a/b", False, False),
        ("/a-%2A", "/a-*", True, True),
        ("/a-%2A", "/a-b", False, False),
        ("/a-%24", "/a-$", True, True),
        ("/a$b", "/a$b", True, True),
        ("/a$b", "/a", False, False),
        ("/100%", "/100%", True, True),
        ("/*%7E$", "/x~", True, False),
        ("/%61$", "/%61", True, True),
        ("/%61$", "/%61b", False, False),
    ],
)
def test_escapes_are_compared_by_what_they_mean_and_in_doubt_less_is_fetched(
    rule: str, path: str, is_forbidden: bool, is_permitted: bool
) -> None:
    forbidding = robots("User-agent: *", f"Disallow: {rule}")
    permitting = robots("User-agent: *", "Disallow: *", f"Allow: {rule}")
    assert forbidding.allowed(HOST + path, "gossamer") is not is_forbidden
    assert permitting.allowed(HOST + path, "gossamer") is is_permitted


# ---- Why --------------------------------------------------------------------------------------------------


def test_a_decision_names_its_line_and_its_group() -> None:
    file = robots(
        "# hello",
        "User-agent: *\r",
        "Crawl-delay: 2",
        "disallow:/private/   # ours",
        "Allow: /private/a*\r\rAllow: /b\nAllow: /b",
    )
    assert file.explain(f"{HOST}/private/x", "gossamer") == Explanation(
        is_allowed=False, group="*", rule="disallow:/private/   # ours", line=4, crawl_delay_s=2.0
    )
    assert file.explain(f"{HOST}/private/ab", "gossamer") == Explanation(True, "*", "Allow: /private/a*", 5, 2.0)
    assert file.explain(f"{HOST}/b", "gossamer") == Explanation(True, "*", "Allow: /b", 7, 2.0)  # the first of two
    assert file.explain(f"{HOST}/else", "gossamer") == Explanation(True, "*", crawl_delay_s=2.0)


def test_a_decision_without_rules_says_whose_are_missing() -> None:
    file = robots("User-agent: other", "Disallow: /", "User-agent: gossamer")
    assert file.explain(HOST, "gossamer/1.2") == Explanation(is_allowed=True, group="gossamer")
    assert file.explain(HOST, "nobody") == Explanation(is_allowed=True, group="")


# ---- Crawl-delay ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [("3", 3.0), ("0.5", 0.5), (".5", 0.5), ("0", 0.0), ("1e3", 1000.0), ("86400000", 86_400_000.0)]
    + [(bad, None) for bad in ("", "-1", "nan", "inf", "1e999", "ten", "10s", "1,5", "1_0", "٣", "0x10", "1 2")],
)
def test_a_crawl_delay_is_a_number_of_seconds_or_nothing(value: str, delay_s: float | None) -> None:
    assert robots("User-agent: *", f"Crawl-delay: {value}").crawl_delay("gossamer") == delay_s


def test_of_several_delays_the_longest_holds() -> None:
    file = robots(
        "User-agent: *", "Crawl-delay: 1", "Disallow: /x", "Crawl-delay: 3", "User-agent: *", "Crawl-delay: 2"
    )
    assert file.crawl_delay("gossamer") == 3.0


def test_a_delay_is_for_the_names_above_it_and_ends_no_group() -> None:
    file = robots(
        "User-agent: a", "Crawl-delay: 1", "User-agent: b", "Disallow: /x", "User-agent: *", "Crawl-delay: 9"
    )
    assert [file.crawl_delay(name) for name in "abc"] == [1.0, None, 9.0]
    assert not file.allowed(f"{HOST}/x", "a")


# ---- Hostile files ----------------------------------------------------------------------------------------

FORBIDDING = "User-agent: *\r\nDisallow: /x\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_file_in_the_wrong_encoding_is_still_obeyed(encoding: str) -> None:
    assert not Robots.parse(FORBIDDING.encode(encoding)).allowed(f"{HOST}/x", "gossamer")


def test_a_file_that_nobody_can_read_says_nothing() -> None:
    assert Robots.parse(FORBIDDING.encode("utf-16-le")).explain(f"{HOST}/x", "gossamer") == Explanation(True)


def test_a_zero_byte_spoils_its_line_and_no_other() -> None:
    file = Robots.parse(b"User-agent: *\nDis\0allow: /a\n\0\nDisallow: /b\0c\nDisallow: /d\n")
    assert [file.allowed(HOST + path, "gossamer") for path in ("/a", "/b", "/b%00c", "/d")] == [
        True,
        True,
        False,
        False,
    ]


def test_lines_may_end_in_any_way_in_one_file() -> None:
    file = Robots.parse(b"User-agent: *\rDisallow: /a\nDisallow: /b\r\nDisallow: /c\n\rDisallow: /d")
    found = [file.explain(f"{HOST}/{name}", "gossamer") for name in "abcd"]
    assert [(why.is_allowed, why.line) for why in found] == [(False, 2), (False, 3), (False, 4), (False, 6)]


def test_a_page_instead_of_a_robots_txt_has_no_rules() -> None:
    page = b"<!doctype html>\n<title>404: not found</title>\n<style>a { color: red }</style>\n<p>Disallow: / <br>\n"
    file = Robots.parse(page)
    assert (file.explain(HOST, "gossamer"), file.crawl_delay("gossamer"), file.sitemaps) == (
        Explanation(True),
        None,
        [],
    )


def test_a_line_of_five_megabytes_is_a_rule_and_is_shown_cut() -> None:
    path = "/" + "ü" * 2_500_000
    file = robots("User-agent: *", f"Disallow: {path}", "Disallow: /b")
    assert not file.allowed(f"{HOST}/b", "gossamer")
    why = file.explain(HOST + path, "gossamer")
    assert not why.is_allowed
    assert len(why.rule) == SHOWN_CHARS_MAX + 1
    assert why.rule.endswith("ü…")


def test_a_line_that_was_cut_with_the_file_counts_as_it_stands() -> None:
    assert not robots("User-agent: *", "Disallow: /priv").allowed(f"{HOST}/private/", "gossamer")


def work(of: Callable[[], object]) -> int:
    """Calls made, of Python and of C functions: a measure of time that a busy machine does not change."""
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        of()
    finally:
        sys.setprofile(None)
    return count


def test_stars_are_matched_in_one_walk() -> None:
    long_url = f"{HOST}/" + "a" * 5000

    def cost(stars: int) -> int:
        file = robots("User-agent: *", "Disallow: /" + "*a" * stars + "*b", "Disallow: /" + "*a" * stars + "*b$")
        assert file.allowed(long_url, "gossamer")
        return work(lambda: file.allowed(long_url, "gossamer"))

    assert cost(1000) <= 10 * cost(100)


def test_a_decision_costs_the_same_with_ten_rules_and_with_twenty_thousand() -> None:
    def cost(count: int) -> int:
        file = robots("User-agent: *", *(f"Disallow: /{number:06}/" for number in range(count)))
        assert not file.allowed(f"{HOST}/000007/x", "gossamer")
        return work(lambda: file.allowed(f"{HOST}/zzzzzz/y/z", "gossamer"))

    assert cost(20_000) == cost(10)


@pytest.mark.parametrize(
    "lines",
    [
        ["User-agent: a-{}", "Disallow: /{}", ""],  # many groups
        ["User-agent: gossamer", "Disallow: /{}", ""],  # many groups of ours
        ["User-agent: gossamer", "User-agent: *"],  # many names
        ["User-agent: *", "Crawl-delay: 1"],
        ["Disallow /{}"],
    ],
)
def test_reading_costs_in_proportion_to_the_size_of_the_file(lines: list[str]) -> None:
    def cost(times: int) -> int:
        text = "\n".join(line.format(number) for number in range(times) for line in lines)
        file = Robots.parse(f"User-agent: gossamer\n{text}\nDisallow: /end".encode())
        return work(lambda: file.allowed(HOST, "gossamer"))

    assert cost(4000) <= 10 * cost(400) + 100


def test_many_names_before_many_rules_do_not_multiply() -> None:
    names = [f"User-agent: {name}" for name in ["gossamer", "other", "*"] * 5000]
    file = robots(*names, *["Crawl-delay: 1"] * 5000, *(f"Disallow: /{number}" for number in range(5000)))
    assert work(lambda: file.allowed(HOST, "gossamer")) <= 20 * 25_000


def test_one_group_is_found_among_a_hundred_thousand() -> None:
    file = robots(*["User-agent: other\nDisallow: /"] * 100_000, "User-agent: gossamer", "Disallow: /x")
    why = file.explain(f"{HOST}/x", "gossamer")
    assert (why.is_allowed, why.group, why.line) == (False, "gossamer", 200_002)


# ---- Any bytes, and a naive matcher -----------------------------------------------------------------------

WORDS = [b"User-agent", b"Disallow", b"Allow", b"Crawl-delay", b"Sitemap", b":", b" ", b"\n", b"\r", b"*", b"$", b"/"]
WORDS += [b"gossamer", b"a", b"%", b"%41", b"%zz", b"#", b"\0", b"\xff", b"\xef\xbb\xbf", b"1", b"-1", "ツ".encode()]
FILES = st.one_of(st.binary(), st.lists(st.sampled_from(WORDS), max_size=40).map(b"".join))


@given(FILES, st.text(), st.one_of(st.text(), st.sampled_from(["gossamer", "gossamer/1.0", "*"])))
def test_no_file_no_url_and_no_name_is_an_error(content: bytes, url: str, agent: str) -> None:
    file = Robots.parse(content)
    why = file.explain(url, agent)
    assert why.is_allowed is file.allowed(url, agent)
    assert why.is_allowed or why.rule
    assert bool(why.rule) is bool(why.line)
    assert why.crawl_delay_s == file.crawl_delay(agent)
    assert why.crawl_delay_s is None or why.crawl_delay_s >= 0
    assert all(file.sitemaps)


def naive_match(rule: str, path: str) -> bool:
    """Letter by letter, trying everything: too slow for use, too simple to be wrong."""
    if not rule:
        return True
    if rule == "$":
        return not path
    if rule[0] == "*":
        return any(naive_match(rule[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and rule[0] == path[0] and naive_match(rule[1:], path[1:])


def octets(rule: str) -> int:
    return len(rule) + 2 * rule[:-1].count("$")  # a `$` that is not the last letter stands for itself, as %24


PATHS = st.text("/ab*$", max_size=8).map("/".__add__)
CHANGES = ["{0}", "{0}", "{0}", "*", "*{0}", "{0}*{0}"]


@st.composite
def rules_near_a_path(draw: st.DrawFn) -> tuple[list[tuple[bool, str]], str]:
    """Rules made from the path's own letters: of arbitrary ones hardly any would match."""
    path = draw(PATHS)
    rules = []
    for _ in range(draw(st.integers(1, 5))):
        changes = draw(st.lists(st.sampled_from(CHANGES), max_size=len(path)))
        rule = "".join(change.format(letter) for change, letter in zip(changes, path, strict=False))
        rules.append((draw(st.booleans()), rule + draw(st.sampled_from(["", "", "$", "*", "a", "a$"]))))
    return rules, path


@settings(max_examples=500)
@given(rules_near_a_path())
def test_a_naive_matcher_agrees(case: tuple[list[tuple[bool, str]], str]) -> None:
    rules, path = case
    file = robots("User-agent: *", *(f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules))
    why = file.explain(HOST + path, "gossamer")
    matching = [(octets(rule), allow) for allow, rule in rules if rule and naive_match(rule, path)]
    allow, rule = rules[why.line - 2] if why.line else (True, "")
    assert (octets(rule), allow) == max(matching, default=(0, True))
    assert why.is_allowed is allow


PIECES = ["/", "a", "b", "%61", "%2F", "*"]
ESCAPED = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(st.lists(st.tuples(st.booleans(), ESCAPED), max_size=4), ESCAPED.map("/".__add__))
def test_nothing_is_fetched_that_the_letter_of_the_rfc_forbids(rules: list[tuple[bool, str]], path: str) -> None:
    file = robots("User-agent: *", *(f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules))
    plain = [(allow, rule.replace("%61", "a")) for allow, rule in rules]
    by_the_letter = max(
        ((len(rule), allow) for allow, rule in plain if rule and naive_match(rule, path.replace("%61", "a"))),
        default=(0, True),
    )[1]
    assert by_the_letter or not file.allowed(HOST + path, "gossamer")
