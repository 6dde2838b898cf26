"""What `why` says about rendering a page: what was done, the evidence, and what its pattern of URLs has gained."""

from __future__ import annotations

from typing import Any

from gossamer.inspect.view import CrawlView
from gossamer.records import Host, UrlRecord
from gossamer.render.browser import find_browser
from gossamer.rendered import Gain
from gossamer.text import counted, moment, size
from gossamer.url.patterns import pattern_of
from gossamer.url.site import host_of, site_of

Facts = dict[str, Any]
HTML = ("text/html", "application/xhtml+xml")
EVIDENCE = {
    "always": "render.when or a policy says so",
    "pattern": "pages of its pattern gain by it",
    "again": "another look at a pattern that gained nothing",
    "shell": "next to no text, and scripts",
    "mount": "an empty element that an application fills",
    "noscript": "little text, and <noscript> asks for JavaScript",
    "few_links": "scripts, and no link to its own host",
    "scripts": "a look at an ordinary page with scripts",
}


def rendering_facts(view: CrawlView, known: UrlRecord) -> Facts | None:
    """None: it is no HTML page."""
    if known.media_type not in HTML:
        return None
    settings, host = view.configuration.tree.render, host_of(known.url)
    own, whole = view.gains(known.url).of(known.url)
    return {
        "when": view.folder.policies().of(Host(host, site_of(host))).render or settings.when,
        "has_browser": find_browser(settings.browser) is not None,
        "pattern": pattern_of(known.url),
        "of_pattern": gain_facts(own),
        "of_host": gain_facts(whole),
    }


def gain_facts(gain: Gain | None) -> Facts | None:
    if gain is None:
        return None
    return {
        "rendered": gain.rendered,
        "gained": gain.gained,
        "passed": gain.passed,
        "looked_at": moment(gain.looked_at),
    }


def rendering_text(rendering: Facts, cost: Facts | None) -> str:
    if cost is not None:
        return _rendered(cost)
    if rendering["when"] == "never":
        return "not rendered: render.when or a policy says never"
    if not rendering["has_browser"]:
        return "not rendered: there is no browser"
    gain = rendering["of_pattern"]
    if gain is None:
        return f"not rendered: no script, or nobody has looked at a page of its pattern {rendering['pattern']} yet"
    done = f"{gain['gained']} of {counted(gain['rendered'], 'page')} of its pattern {rendering['pattern']} gained"
    return f"not rendered: {done}; {counted(gain['passed'], 'page')} passed since {gain['looked_at']}"


def _rendered(cost: Facts) -> str:
    why = EVIDENCE.get(cost["why"], cost["why"])
    took = f"{counted(cost['requests'], 'request')}, {size(cost['bytes'])}, {cost['seconds']:.1f} s"
    missing = f", {counted(cost['missing'], 'request')} without an answer" if cost["missing"] else ""
    if cost["fault"]:
        return f"rendered [{cost['why']}: {why}] in vain: {cost['fault']} ({took}{missing})"
    gained = f"{cost['text_gained']:,} characters and {counted(cost['links_gained'], 'link')} gained"
    if not (cost["text_gained"] or cost["links_gained"]):
        gained = "nothing gained, so it is as its server sent it"
    return f"rendered [{cost['why']}: {why}]: {gained} ({took}{missing})"
