"""The dashboard of a crawl under way, in a real browser; what the web was asked is told by its own access log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.browser import DESKTOP, PHONE, Tab
from tests.browser.hostile import HostileSite
from tests.browser.stage import HOSTS, Stage, until

BLOCKED = "127.1.0.2"
ROWS_MAX = 120  # in latest.js
LOOKS: list[tuple[str, ViewportSize, Literal["light", "dark"]]] = [
    ("light", DESKTOP, "light"),
    ("dark", DESKTOP, "dark"),
    ("phone", PHONE, "light"),
]


def test_the_figures_of_a_running_crawl_move(tab: Tab) -> None:
    expect(tab.page.locator("#state")).to_have_text("Running")
    tab.figure_above("#pages", tab.number("#pages") + 10)
    tab.figure_above("#rate", 1)
    expect(tab.page.locator("#throughput path.line")).to_have_attribute("d", re.compile(r"^M.+L"))
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


def test_a_host_that_is_blocked_on_the_page_is_asked_nothing_more(tab: Tab, stage: Stage) -> None:
    until(lambda: stage.asked(BLOCKED) > 0)
    tab.page.get_by_label(f"Block {BLOCKED}", exact=True).click()
    expect(tab.page.locator(f"#hosts tr[data-key='{BLOCKED}'] .tag")).to_have_text("blocked")
    others = total(stage)
    until(lambda: total(stage) > others + 20)  # the policy is in force by now
    blocked, others = stage.asked(BLOCKED), total(stage)
    until(lambda: total(stage) > others + 40)
    assert stage.asked(BLOCKED) == blocked
    tab.page.get_by_label(f"Unblock {BLOCKED}", exact=True).click()
    expect(tab.page.locator(f"#hosts tr[data-key='{BLOCKED}'] .tag")).to_have_text("")


def test_the_rate_of_a_host_is_changed_in_its_dialog(tab: Tab, stage: Stage) -> None:
    tab.page.locator("#hosts").get_by_role("button", name="127.1.0.3", exact=True).click()
    dialog = tab.page.locator("#host-dialog")
    expect(dialog.locator("pre").first).to_contain_text("User-agent")
    dialog.get_by_label("Requests a second, at most").fill("0.5")
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(dialog).to_be_hidden()
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


def test_hosts_are_sorted_and_filtered(tab: Tab) -> None:
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
    tab.page.fill("#hosts-search", "nowhere")
    expect(tab.page.locator("#hosts-none")).to_have_text("No host of that name.")


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
        assert tab.page.locator("main img, dialog img, dialog script, main a").count() == 0
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


def test_it_looks_right_in_light_and_dark_and_on_a_phone(tab: Tab, tmp_path: Path) -> None:
    """To be looked at: the pictures are in pytest's temporary folder."""
    tab.page.wait_for_selector("#hosts tr")
    for name, size, scheme in LOOKS:
        tab.page.set_viewport_size(size)
        tab.page.emulate_media(color_scheme=scheme)
        tab.page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
        assert tab.page.evaluate("document.documentElement.scrollWidth") == size["width"]


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
