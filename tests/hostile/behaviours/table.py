"""The whole table: every one of the 124 hostile behaviours, once."""

from __future__ import annotations

from tests.hostile.behaviours import codings, connections, messages, redirects, secure
from tests.hostile.behaviours.rows import Play, Played, Row, Unplayable, proven

COUNT = 124

ROBOTS: list[Row] = [
    proven(
        86, "robots.txt fails or is silent", "test_robots.py::test_a_robots_txt_that_cannot_be_had_closes_the_host"
    ),
    proven(87, "robots.txt is not there", "test_robots.py::test_a_robots_txt_that_is_not_there_opens_the_host"),
    proven(88, "robots.txt has moved", "test_robots.py::test_rules_behind_redirects_bind_the_host_that_was_asked"),
    proven(89, "robots.txt moves in circles", "test_robots.py::test_a_robots_txt_that_moves_in_circles_is_none"),
    proven(90, "robots.txt never ends", "test_robots.py::test_the_beginning_of_an_endless_robots_txt_counts"),
    proven(91, "robots.txt is a page", "test_robots.py::test_what_is_no_robots_txt_forbids_nothing"),
    proven(92, "robots.txt in odd bytes", "test_robots.py::test_odd_bytes_in_a_robots_txt_are_borne"),
    proven(
        93,
        "absurd crawl delays",
        "test_robots.py::test_a_host_that_asks_for_an_absurd_crawl_delay_is_left_alone",
        "test_robots.py::test_a_crawl_delay_that_is_no_time_is_passed_over",
    ),
]

CRAWL: list[Row] = [
    proven(94, "Retry-After of every kind", "test_crawl.py::test_a_host_that_asks_for_time_gets_it"),
    proven(
        95, "a host that gets slower and slower", "test_crawl.py::test_a_host_that_slows_down_is_asked_less_often"
    ),
    proven(
        96, "403, and a riddle instead of a page", "test_crawl.py::test_a_wall_is_not_run_against_again_and_again"
    ),
    proven(97, "two new links on every page", "test_crawl.py::test_a_host_without_end_stops_at_its_budget"),
    proven(98, "frames in frames", "test_crawl.py::test_a_host_without_end_stops_at_its_budget"),
    proven(99, "paths that grow", "test_crawl.py::test_urls_that_no_person_would_make_are_refused"),
    proven(100, "session ids", "test_crawl.py::test_session_ids_do_not_make_new_pages"),
    proven(101, "a calendar without end", "test_crawl.py::test_urls_that_no_person_would_make_are_refused"),
    proven(102, "200 for everything", "test_crawl.py::test_a_host_without_end_stops_at_its_budget"),
    proven(103, "every sub-domain answers", "test_crawl.py::test_a_site_of_endless_hosts_stops_at_its_budget"),
    proven(104, "20,000 links on a page", "test_crawl.py::test_a_page_of_too_many_links_is_read_up_to_a_bound"),
    proven(114, "a sitemap index that lists itself", "test_crawl.py::test_a_sitemap_that_lists_itself_is_read_once"),
]

PAGES: list[Row] = [
    proven(105, "100,000 nested elements", "test_pages.py::test_absurd_markup_is_read_in_bounded_time"),
    proven(106, "5 MB on one line", "test_pages.py::test_absurd_markup_is_read_in_bounded_time"),
    proven(107, "the wrong charset", "test_pages.py::test_links_are_found_whatever_the_charset_says"),
    proven(108, "a charset that nobody knows", "test_pages.py::test_links_are_found_whatever_the_charset_says"),
    proven(109, "2 MB of UTF-8, then one other byte", "test_pages.py::test_one_bad_byte_costs_one_character"),
    proven(110, "charsets that no browser obeys", "test_pages.py::test_dangerous_charsets_are_not_obeyed"),
    proven(111, "no Content-Type, or a wrong one", "test_pages.py::test_what_is_no_html_is_not_read_as_html"),
    proven(112, "Content-Type with odd parameters", "test_pages.py::test_odd_parameters_do_not_hide_the_media_type"),
    proven(113, "XML that expands or fetches", "test_pages.py::test_a_sitemap_expands_and_fetches_nothing"),
    proven(115, "a sitemap that is too large", "test_pages.py::test_a_sitemap_is_read_up_to_its_limits"),
    proven(
        116,
        "a broken sitemap",
        "test_pages.py::test_urls_before_a_fault_in_a_sitemap_count",
        "../process/test_sitemap.py::test_sitemaps_of_every_kind_are_read_as_in_crawler_commons",
    ),
]

REQUESTS: list[Row] = [
    Unplayable(
        123, "a body in the answer to HEAD", "the crawler only ever sends GET, so no server can do this to it"
    ),
    proven(124, "URLs with odd characters", "test_reuse.py::test_a_request_line_is_as_the_url_standard_writes_it"),
]

ROWS: list[Row] = sorted(
    [
        *connections.ROWS,
        *messages.ROWS,
        *codings.ROWS,
        *redirects.ROWS,
        *ROBOTS,
        *CRAWL,
        *PAGES,
        *secure.ROWS,
        *REQUESTS,
    ],
    key=lambda row: row.number,
)

PLAYS: dict[str, Play] = {
    f"{row.number:03} {row.name}: {way.replace('_', ' ')}": play
    for row in ROWS
    if isinstance(row, Played)
    for way, play in row.ways.items()
}
