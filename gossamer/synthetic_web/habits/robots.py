"""robots.txt: what each kind of host says, and, apart from that, what it means.

`answer` writes the files. `permits` says what they forbid, decided from the sections of the web and not by reading
the files: it is the judge of robots libraries and cannot be built on one. Whoever changes a rule changes both.

The paths that rules speak of are linked from ordinary pages as /private/N, /private/open/N, /tmp/N/draft,
/print/N.cgi and /print/N.cgi?page=2, on every host alike: some hosts forbid them and others do not.
The root page and /p/ are never forbidden to "gossamer", except where robots.txt cannot be fetched.
"""

from __future__ import annotations

from gossamer.synthetic_web.answer import Anchor, Answer, Delivery, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import leaf, plain_answer
from gossamer.synthetic_web.options import RobotsKind

MOVED_PATH = "/rules/robots.txt"
BORROWED_PATH = "/rules/shared-robots.txt"  # on host 0

TEXTS = {
    RobotsKind.OPEN: "User-agent: *\nDisallow:\n",
    RobotsKind.GROUPS: (
        "# Several groups; a crawler obeys the one that names it.\n"
        "User-agent: otherbot\nUser-agent: thirdbot\nDisallow: /p/\n\n"
        "User-agent: *\nDisallow: /\n\n"
        "User-Agent: Gossamer\nDisallow: /private/\nDisallow: /tmp/\n"
    ),
    RobotsKind.WILDCARDS: "User-agent: *\nDisallow: /*.cgi$\nDisallow: /tmp/*/draft\n",
    RobotsKind.OVERRIDE: "User-agent: *\nDisallow: /private/\nAllow: /private/open/\n",
    RobotsKind.DELAY: "User-agent: *\nCrawl-delay: {crawl_delay_s:g}\nDisallow: /private/\n",
    RobotsKind.SITEMAP: "User-agent: *\nDisallow: /tmp/\n\nSitemap: {sitemap}\n",
    RobotsKind.HUGE: "User-agent: *\nDisallow: /private/\n",
}
MOVED_TEXT = "User-agent: *\nDisallow: /private/\n"
BORROWED_TEXT = "User-agent: *\nDisallow: /tmp/\n"


def permits(kind: RobotsKind, target: str, agent: str) -> bool:
    """May this agent ask for this path and query on a host of this kind?"""
    private, temporary = target.startswith("/private/"), target.startswith("/tmp/")
    match kind:
        case RobotsKind.MISSING | RobotsKind.OPEN:
            return True
        case RobotsKind.UNAVAILABLE | RobotsKind.SILENT:
            return False
        case RobotsKind.GROUPS:
            match agent.lower():
                case "gossamer":
                    return not private and not temporary
                case "otherbot" | "thirdbot":
                    return not target.startswith("/p/")
                case _:
                    return False
        case RobotsKind.WILDCARDS:
            draft = temporary and "/draft" in target.removeprefix("/tmp/")
            return not target.endswith(".cgi") and not draft
        case RobotsKind.OVERRIDE:
            return not private or target.startswith("/private/open/")
        case RobotsKind.DELAY | RobotsKind.MOVED | RobotsKind.HUGE:
            return not private
        case RobotsKind.SITEMAP | RobotsKind.BORROWED:
            return not temporary


def answer(atlas: Atlas, visit: Visit) -> Answer | None:
    """The answer for /robots.txt."""
    options, kind = atlas.options, atlas.robots_kind(visit.host)
    match kind:
        case RobotsKind.MISSING:
            return plain_answer("robots", 404)
        case RobotsKind.UNAVAILABLE:
            return plain_answer("robots", 503)
        case RobotsKind.SILENT:
            return Answer("robots", delivery=Delivery.SILENT)
        case RobotsKind.MOVED:
            return plain_answer("robots", 301, ("Location", MOVED_PATH))
        case RobotsKind.BORROWED:
            return plain_answer("robots", 302, ("Location", atlas.url(0, BORROWED_PATH)))
        case RobotsKind.HUGE:
            line = "# A line that says nothing and is only there to be long.\n"
            return _file(TEXTS[kind] + line * (options.robots_huge_bytes // len(line) + 1))
        case _:
            sitemap = atlas.url(visit.host, "/sitemap.xml")
            return _file(TEXTS[kind].format(crawl_delay_s=options.crawl_delay_s, sitemap=sitemap))


def rules(atlas: Atlas, visit: Visit) -> Answer | None:
    """/rules/...: where robots.txt is redirected to."""
    if visit.parts == ["rules", "robots.txt"] and atlas.robots_kind(visit.host) is RobotsKind.MOVED:
        return _file(MOVED_TEXT)
    if visit.parts == ["rules", "shared-robots.txt"] and visit.host == 0:
        return _file(BORROWED_TEXT)
    return None


def _file(body: str) -> Answer:
    return Answer("robots", headers=(("Content-Type", "text/plain"),), body=body.encode())


# The paths that the rules are about.


def forbidden_anchors(_atlas: Atlas, _host: int, page: int) -> list[Anchor]:
    return [
        Anchor(f"/private/{page}"),
        Anchor(f"/private/open/{page}"),
        Anchor(f"/tmp/{page}/draft"),
        Anchor(f"/print/{page}.cgi"),
        Anchor(f"/print/{page}.cgi?page=2"),
    ]


def forbidden(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["private", number] | ["private", "open", number] | ["tmp", number, "draft"]:
            page = atlas.page_number(number)
        case ["private", "landing", number]:  # where a redirect leads to, see redirects.py
            page = atlas.page_number(number)
            if page is None or not atlas.carries("redirects", visit.host, page):
                return None
            return leaf(atlas, "private", f"private-landing/{visit.host}/{page}")
        case ["print", script] if script.endswith(".cgi"):
            page = atlas.page_number(script.removesuffix(".cgi"))
        case _:
            return None
    if page is None or not atlas.carries("forbidden", visit.host, page):
        return None
    return leaf(atlas, visit.parts[0], f"forbidden/{visit.host}/{'/'.join(visit.parts)}?{visit.query}")


CARRIED = {"forbidden": forbidden_anchors}
FILES = {"/robots.txt": answer}
SECTIONS = {"rules": rules, "private": forbidden, "tmp": forbidden, "print": forbidden}
