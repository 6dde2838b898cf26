"""The dashboard of a crawl under way, in a real browser; what the web was asked is told by its own access log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.browser import DESKTOP, PHONE, WIDE, Tab
from tests.browser.hostile import HostileSite
from tests.browser.stage import HOSTS, SITE, Stage, until

BLOCKED = "127.1.0.2"
ROWS_MAX = 120  # in latest.js
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LIGHT_RULES: dict[str, list[str]] = {"resultTypes": ["violations"]}
DARK_RULES = {"runOnly": ["color-contrast"], **LIGHT_RULES}
DARK = ("overview", "host", "log", "why")  # they have every colour that there is
# Each with something that is there when it has been filled.
VIEWS = [
    ("overview", "#/", "#hosts tr"),
    ("trends", "#/trends?span=600", ".trend .drawn"),
    ("pages", "#/pages?state=done", "#pages-rows tr"),
    ("hosts", "#/hosts", "#hosts tr"),
    ("host", "#/hosts/127.1.0.1", "#host-page .drawn"),
    ("policies", "#/policies", "#policies-rows tr, #policies-none:not([hidden])"),
    ("seeds", "#/seeds", "#seeds-rows tr"),
    ("settings", "#/settings?show=changed", "#settings-rows tr"),
    ("exports", "#/exports", "#exports-none"),
    ("log", "#/log", "#log:not(:empty)"),
    ("why", "#/?why=http%3A%2F%2F127.1.0.1%2F", "#why-dialog .pill"),
]


def test_the_figures_of_a_running_crawl_move(tab: Tab) -> None:
    expect(tab.page.locator("#state")).to_have_text("Running")
    tab.figure_above("#pages", tab.number("#pages") + 10)
    tab.figure_above("#rate", 1)
    expect(tab.page.locator("#throughput [role=img]")).to_have_attribute(
        "aria-label", re.compile(r"Now [\d.]+ pages/s")
    )
    assert tab.is_drawn("#throughput")
    expect(tab.page.locator("#latest li").first).to_be_visible()
    expect(tab.page.locator("#workers li")).to_have_count(1)


def test_it_asks_nobody_but_its_own_server_and_complains_about_nothing(tab: Tab, stage: Stage) -> None:
    tab.figure_above("#pages", tab.number("#pages"))
    tab.page.reload()
    tab.page.wait_for_selector("#hosts tr")
    assert tab.origins() == {stage.url}
    assert tab.complaints == []


def test_it_stays_light_and_asks_for_nothing_while_hidden(tab: Tab) -> None:
    expect(tab.page.locator("#latest li")).to_have_count(ROWS_MAX)  # there have been more
    tab.asked.clear()
    tab.page.wait_for_timeout(1500)
    assert sum(url.endswith("/status") for url in tab.asked) <= 2
    # There is nothing to hide a headless tab behind, so it is told that it is hidden.
    tab.page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    tab.page.wait_for_timeout(100)
    tab.asked.clear()
    tab.page.wait_for_timeout(1200)
    assert tab.asked == []


def test_a_crawl_is_paused_and_resumed_by_keyboard_alone(tab: Tab, stage: Stage) -> None:
    press_until(tab.page, "Tab", "#pause")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#state")).to_have_text("Paused")
    expect(tab.page.locator("#pause")).to_be_focused()
    expect(tab.page.locator("#toast")).to_contain_text("Paused")
    expect(tab.page.locator("#queued-note")).to_have_text("0 in flight")
    asked = total(stage)
    tab.page.wait_for_timeout(500)
    assert total(stage) == asked
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#state")).to_have_text("Running")
    until(lambda: total(stage) > asked)


def test_a_host_is_blocked_after_a_question_that_says_how_much_it_concerns_and_that_is_undone(
    tab: Tab, stage: Stage
) -> None:
    until(lambda: stage.asked(BLOCKED) > 0)
    tag = tab.page.locator(f"#hosts tr[data-key='{BLOCKED}'] .tag")
    dialog = tab.page.locator("#block-dialog")
    tab.page.get_by_label(f"Block {BLOCKED}", exact=True).click()
    expect(dialog).to_contain_text(re.compile(r"this host: [\d,]+ URLs queued"))
    dialog.get_by_role("button", name="Cancel").click()
    expect(tag).to_have_text("")
    tab.page.get_by_label(f"Block {BLOCKED}", exact=True).click()
    dialog.get_by_role("button", name="Block").click()
    expect(tag).to_have_text("blocked")
    others = total(stage)
    until(lambda: total(stage) > others + 20)  # the policy is in force by now
    blocked, others = stage.asked(BLOCKED), total(stage)
    until(lambda: total(stage) > others + 40)
    assert stage.asked(BLOCKED) == blocked
    tab.page.get_by_role("button", name="Undo").click()
    expect(tag).to_have_text("")
    expect(tab.page.locator("#toast")).to_contain_text("no longer blocked: what was refused for it comes back")
    until(lambda: stage.asked(BLOCKED) > blocked)


def test_a_whole_site_is_blocked_where_that_is_chosen(tab: Tab) -> None:
    tab.see(f"#/hosts?filter={SITE}")
    tab.page.get_by_label(f"Block www.{SITE}", exact=True).click()
    dialog = tab.page.locator("#block-dialog")
    dialog.get_by_label(f"{SITE} the whole site, 2 hosts", exact=False).check()
    dialog.get_by_role("button", name="Block").click()
    expect(tab.page.locator("#hosts .tag")).to_have_text(["blocked", "blocked"])
    tab.see("#/policies")
    row = tab.page.locator("#policies-rows tr").filter(has_text=SITE)
    expect(row).to_contain_text("its whole siteblocked")
    tab.page.get_by_label(f"Clear {SITE}").click()
    expect(row).to_have_count(0)
    tab.page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    tab.page.get_by_label(f"Clear {SITE}").click()
    expect(row).to_have_count(0)


def test_the_page_of_a_host_shows_what_is_known_of_it_and_sets_its_policy(tab: Tab, stage: Stage) -> None:
    tab.page.locator("#hosts").get_by_role("link", name="127.1.0.3", exact=True).click()
    host = tab.page.locator("#host-page")
    expect(host.get_by_role("heading", name="127.1.0.3", exact=True)).to_be_visible()
    assert tab.page.url.endswith("#/hosts/127.1.0.3")
    expect(host.locator("pre").first).to_contain_text("User-agent")
    expect(host.locator(".states")).to_contain_text("queued")
    expect(host.locator(".trail button").first).to_contain_text("http://127.1.0.3")
    expect(host.locator("[role=img]")).to_have_attribute("aria-label", re.compile(r"^[1-9][\d,]* pages"))
    host.get_by_label("Requests a second, at most").fill("0.5")
    host.get_by_role("button", name="Set", exact=True).click()
    expect(tab.page.locator("#toast")).to_contain_text("127.1.0.3: at most 0.5/s")
    host.get_by_role("link", name="Its pages").click()
    expect(tab.page.locator("#pages-rows tr").first).to_contain_text("http://127.1.0.3")
    tab.page.go_back()
    expect(host.get_by_role("heading", name="127.1.0.3", exact=True)).to_be_visible()
    tab.page.go_back()
    expect(tab.page.locator("#hosts tr[data-key='127.1.0.3'] .tag")).to_have_text("at most 0.5/s")


def test_a_seed_is_added_and_crawled_and_told_apart_from_what_is_known_or_refused(tab: Tab, stage: Stage) -> None:
    new = stage.seed(HOSTS)
    tab.page.click("#add-seeds")
    tab.page.fill("#seeds-urls", f"{new}\n{stage.seed(1)}\n")
    tab.page.click("#seeds-form .primary")
    expect(tab.page.locator("#seeds-result")).to_contain_text("1 seed added, 1 known already")
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#seeds-dialog")).to_be_hidden()
    until(lambda: stage.asked(f"127.1.0.{HOSTS}") > 2)

    tab.page.click("#add-seeds")
    tab.page.fill("#seeds-urls", "javascript:alert(1)")
    tab.page.click("#seeds-form .primary")
    expect(tab.page.locator("#seeds-result .wrong")).to_be_visible()


def test_why_tells_the_story_of_a_url_and_shows_what_is_stored(tab: Tab, stage: Stage) -> None:
    tab.page.keyboard.press("/")
    tab.page.keyboard.type(f"{stage.seed(1)}p/1")
    tab.page.keyboard.press("Enter")
    dialog = tab.page.locator("#why-dialog")
    expect(dialog.locator(".verdict .pill")).to_have_text("done")
    expect(dialog.locator(".trail")).to_contain_text("the seed")
    dialog.get_by_role("button", name="Show as text").click()
    expect(dialog.locator("pre")).to_contain_text("<html")
    tab.page.keyboard.press("Escape")
    tab.page.fill("#ask-url", "http://elsewhere.example/")
    tab.page.press("#ask-url", "Enter")
    expect(dialog.locator(".verdict")).to_contain_text("outside the crawl's scope")


def test_hosts_are_sorted_and_filtered_and_the_address_says_how(tab: Tab) -> None:
    tab.see("#/hosts")
    head = tab.page.locator("th[data-sort=host]")
    names = tab.page.locator("#hosts th")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(names.first).to_have_text(re.compile(r"^127\.0\.0\.1"))
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(names.last).to_have_text(re.compile(r"^127\.0\.0\.1"))
    tab.page.fill("#hosts-search", "127.1.0.4")
    expect(names).to_have_count(1)
    tab.page.reload()  # as somebody would see it who was sent the address
    expect(names).to_have_count(1)
    expect(head).to_have_attribute("aria-sort", "descending")
    tab.page.go_back()
    expect(head).to_have_attribute("aria-sort", "ascending")
    tab.page.fill("#hosts-search", "nowhere")
    expect(tab.page.locator("#hosts-none")).to_have_text("No host of that name.")


def test_pages_are_listed_by_the_filters_of_the_api(tab: Tab, hostile: HostileSite) -> None:
    tab.see("#/pages")
    rows = tab.page.locator("#pages-rows tr")
    expect(rows).to_have_count(50)
    tab.page.locator("#pages-pager").get_by_role("link", name="More").click()
    expect(tab.page.locator("#pages-pager").get_by_role("link", name="From the start")).to_be_visible()
    filters = tab.page.locator("#pages-filters")
    filters.get_by_label("Reason", exact=True).select_option("gone")
    filters.get_by_label("Host", exact=True).fill("127.0.0.1")
    filters.get_by_label("Host", exact=True).press("Enter")
    expect(rows.filter(has_text="/gone")).to_contain_text("404 gone")
    assert "reason=gone" in tab.page.url and "host=127.0.0.1" in tab.page.url
    filters.get_by_label("State", exact=True).select_option("queued")
    expect(tab.page.locator("#pages-none")).to_have_text("No page is like that.")
    tab.page.go_back()
    expect(rows.filter(has_text="/gone")).to_be_visible()
    rows.filter(has_text="/gone").get_by_role("button").click()
    expect(tab.page.locator("#why-dialog .verdict")).to_contain_text("404 or 410")
    address = tab.page.url
    tab.page.go_back()
    expect(tab.page.locator("#why-dialog")).to_be_hidden()
    tab.page.goto(address)
    expect(tab.page.locator("#why-dialog .verdict")).to_contain_text("404 or 410")


def test_the_crawl_is_shown_over_time(tab: Tab) -> None:
    tab.page.get_by_role("link", name="Over time").click()
    tab.page.get_by_role("button", name="10 minutes").click()
    charts = tab.page.locator(".trend")
    expect(charts).to_have_count(12)
    for title, told in (
        ("Answers a second, by status", r"[\d.]+ 2xx"),
        ("Time to answer", r"\d.*p50\), \d.*p95"),
        ("Queue", r"[1-9].* queued"),
        ("Disk free", r"\d.* free"),
        ("Time left", r"\d.* left"),
    ):
        chart = charts.filter(has=tab.page.get_by_role("heading", name=title)).locator("[role=img]")
        expect(chart).to_have_attribute("aria-label", re.compile(told))
    chart = charts.filter(has=tab.page.get_by_role("heading", name="Queue"))
    chart.locator(".u-over").hover()
    expect(chart.locator(".tip")).to_contain_text("queued")
    assert "span=600" in tab.page.url


def test_settings_seeds_exports_and_log_are_shown(tab: Tab, stage: Stage) -> None:
    tab.see("#/settings")
    tab.page.fill("#settings-search", "politeness.delay_s")
    row = tab.page.locator("#settings-rows tr").filter(has_text="shortest delay")
    expect(row).to_contain_text("0.1")
    tab.page.get_by_role("button", name="Changed").click()
    expect(row).to_be_visible()
    tab.see("#/seeds")
    expect(tab.page.locator("#seeds-rows")).to_contain_text(stage.seed(1))
    tab.see("#/exports")
    expect(tab.page.locator("#exports-none")).to_be_visible()
    tab.see("#/log")
    expect(tab.page.locator("#log")).to_contain_text("info started")


def test_keys_lead_to_views_and_are_listed(tab: Tab) -> None:
    tab.page.keyboard.press("?")
    expect(tab.page.locator("#keys-dialog")).to_contain_text("Look up a URL")
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#keys-dialog")).to_be_hidden()  # while it is open, keys are the dialog's
    for key, heading in (("p", "Pages"), ("c", "Settings"), ("l", "Log")):
        tab.page.keyboard.press(key)
        expect(tab.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    tab.page.go_back()
    expect(tab.page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


def test_what_robots_and_traps_forbid_is_not_what_went_wrong(tab: Tab) -> None:
    wrong, left_out = tab.page.locator("#errors"), tab.page.locator("#decisions")
    expect(wrong).to_contain_text("not there (404 or 410)")
    expect(left_out).to_contain_text("robots.txt disallows it")
    expect(wrong).not_to_contain_text("robots.txt disallows it")


def test_what_strangers_wrote_is_text_and_nothing_else(tab: Tab, hostile: HostileSite) -> None:
    tab.page.set_viewport_size(PHONE)
    for url in (hostile.url, f'{hostile.url}?q="><script>alert(5)</script>', f"{hostile.url}\u202egpj.exe"):
        tab.page.fill("#ask-url", url)
        tab.page.press("#ask-url", "Enter")
        expect(tab.page.locator("#why-dialog .pill")).to_be_visible()
        if url == hostile.url:
            expect(tab.page.locator("#why-title")).to_have_text(
                " ".join(hostile.title.replace("\u202e", "<U+202E>").split())
            )
            tab.page.get_by_role("button", name="Show as text").click()
            expect(tab.page.locator("#why-dialog pre")).to_contain_text("<script>")
        assert tab.page.locator("main img, dialog img, dialog script, main a:not([href^='#/'])").count() == 0
        tab.page.keyboard.press("Escape")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert tab.complaints == []


def test_without_its_server_it_says_so_and_recovers_by_itself(tab: Tab, stage: Stage) -> None:
    stage.kill_server()
    banner = tab.page.locator("#banner")
    expect(banner).to_contain_text("does not answer. No figures since")
    assert float(tab.page.locator(".figures").evaluate("e => getComputedStyle(e).opacity")) < 0.6
    stage.serve()
    expect(banner).to_be_hidden()
    tab.figure_above("#pages", tab.number("#pages"))
    tab.page.wait_for_selector("#latest li")


def test_the_theme_follows_the_system_until_it_is_chosen(tab: Tab) -> None:
    tab.page.emulate_media(color_scheme="dark")
    assert background(tab.page) == "rgb(17, 19, 21)"
    tab.page.get_by_role("button", name="Switch between light and dark").click()
    assert background(tab.page) == "rgb(245, 245, 242)"
    tab.page.reload()
    assert background(tab.page) == "rgb(245, 245, 242)"


def test_every_view_fits_every_screen_and_axe_finds_nothing(tab: Tab, tmp_path: Path) -> None:
    """To be looked at: the pictures are in pytest's temporary folder."""
    axe = Axe()
    for name, view, ready in VIEWS:
        tab.page.set_viewport_size(DESKTOP)
        tab.see(view)
        tab.page.wait_for_selector(ready)
        for scheme in SCHEMES if name in DARK else SCHEMES[:1]:
            tab.page.emulate_media(color_scheme=scheme)
            found = axe.run(tab.page, options=LIGHT_RULES if scheme == "light" else DARK_RULES)
            assert found.violations_count == 0, f"{name} {scheme}: {found.generate_report()}"
        for size in (PHONE, WIDE):
            tab.page.set_viewport_size(size)
            if name in DARK:
                tab.page.screenshot(path=tmp_path / f"{name}-{size['width']}.png")
            assert tab.page.evaluate("document.documentElement.scrollWidth") == size["width"], f"{name} {size}"
    assert tab.complaints == []


def test_a_wide_screen_is_used(tab: Tab) -> None:
    tab.page.set_viewport_size(WIDE)
    tab.page.wait_for_selector("#hosts tr")
    used = tab.page.evaluate(
        "Math.max(...[...document.querySelectorAll('main > section')].map((e) => e.getBoundingClientRect().right))"
    )
    assert used > 2400
    cards = [tab.page.locator(f"#h-{name}").bounding_box() for name in ("throughput", "history", "errors")]
    assert len({card["y"] for card in cards if card}) == 1


# ---- in words ------------------------------------------------------------------------------------------------


def total(stage: Stage) -> int:
    return stage.log_file.read_bytes().count(b"\n")


def press_until(page: Page, key: str, selector: str, times: int = 12) -> None:
    for _ in range(times):
        page.keyboard.press(key)
        if page.locator(selector).evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{selector} is not reached by {times} times {key}")


def background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour
