"""Decorated hosts: pages that are complete as they are sent. Their scripts do what scripts of such sites do, and
whoever renders them gains no word worth reading and no link within the site.

    analytics   articles, counted by a script that sends beacons and pictures
    widget      a clock, a button, and a link to another site for sharing the page, made by a script
    cart        a shop: a script shows how full the cart is
    forum       a script turns times into "3 hours ago" and folds quotations
    rebuilt     the whole page stands in a mount point, and a script makes the same again from its data
    pixel       a <noscript> that holds a counting picture, and asks for nothing
    brief       a dozen words on a page, and many scripts
    empty       the shell of an application that only shows a spinner, for ever
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import render
from gossamer.synthetic_web.scripted.content import (
    JAVASCRIPT,
    Content,
    content,
    file,
    kind_at,
    page_answer,
    page_at,
    shared_file,
    shell,
)

SCRIPTS = {
    "analytics": """
new Image().src = "/count.gif?page=" + encodeURIComponent(location.pathname);
navigator.sendBeacon("/collect", JSON.stringify({ width: innerWidth }));
""",
    "widget": """
const bar = document.body.appendChild(document.createElement("div"));
bar.innerHTML = "<b></b><a>Share</a><button>Print</button>";
bar.children[1].href = "http://share.invalid/?page=" + encodeURIComponent(location.href);
setInterval(() => { bar.firstChild.textContent = new Date().toLocaleTimeString(); }, 1000);
""",
    "cart": """
const cart = document.body.appendChild(document.createElement("section"));
const items = JSON.parse(localStorage.getItem("cart") || "[]");
cart.textContent = items.length ? items.length + " items" : "Your cart is empty";
""",
    "forum": """
document.querySelectorAll("time").forEach((time) => {
  time.textContent = Math.floor((Date.now() - Date.parse(time.dateTime)) / 3600000) + " hours ago";
});
document.querySelectorAll("blockquote").forEach((quotation) => { quotation.hidden = true; });
""",
    "rebuilt": """
const root = document.getElementById("root");
const copy = root.cloneNode(true);
root.replaceChildren(...copy.childNodes);
root.dataset.hydrated = "yes";
""",
    "pixel": "window.dataLayer = window.dataLayer || []; dataLayer.push({ page: location.pathname });\n",
    "brief": "document.documentElement.classList.add('js');\n",
    "empty": """
const app = document.getElementById("app");
setInterval(() => { app.className = app.className === "turn" ? "" : "turn"; }, 200);
""",
}
SOURCE = '<script src="/site.js" async></script>\n'
FORUM_TIME = '<time datetime="2026-11-05T10:00:00Z">5 November</time><blockquote>It is.</blockquote>'
PIXEL = '</p><noscript><img src="/count.gif" alt=""></noscript><p>Counted.'
STATE = '</p><script>window.__STATE__ = {"ready": true}</script><p>Served whole.'


def _framed(mount: str = "", footer: str = "") -> Callable[[Content, list[Anchor]], str]:
    """A page with all of its text and links, some of it in a mount point."""

    def page(whole: Content, anchors: list[Anchor]) -> str:
        html = render(whole.title, whole.sentences, anchors, f"{SOURCE}", footer)
        if mount:
            html = html.replace("<body>\n", f'<body>\n<div id="{mount}">').replace("</body>", "</div></body>")
        return html

    return page


def _brief(whole: Content, anchors: list[Anchor]) -> str:
    head = SOURCE + "".join(f'<script src="/site.js?part={part}" async></script>\n' for part in range(4))
    return render(whole.title, whole.sentences[:1], anchors, head, "Small.")


def _empty(whole: Content, anchors: list[Anchor]) -> str:
    links = "".join(f'<a href="{anchor.href}"></a>' for anchor in anchors)
    return shell(whole.title, "", f'<nav>{links}</nav>\n<script src="/site.js"></script>\n')


KINDS: dict[str, Callable[[Content, list[Anchor]], str]] = {
    "analytics": _framed(),
    "widget": _framed(),
    "cart": _framed(),
    "forum": _framed(footer=FORUM_TIME),
    "rebuilt": _framed("root", STATE),
    "pixel": _framed(footer=PIXEL),
    "brief": _brief,
    "empty": _empty,
}


def kind_of(atlas: Atlas, host: int) -> str | None:
    return kind_at(host - atlas.options.first_decorated, atlas.options.decorated_hosts, list(KINDS))


def decorated_answer(atlas: Atlas, visit: Visit) -> Answer | None:
    kind, path = kind_of(atlas, visit.host), "/" + "/".join(visit.parts)
    if kind is None:
        return None
    page = page_at(path, atlas.options.decorated_pages)
    if page is None:
        return file("script", JAVASCRIPT, SCRIPTS[kind]) if path == "/site.js" else shared_file(path)
    whole = content(atlas, visit.host, page, atlas.options.decorated_pages)
    anchors = [Anchor("/", "home"), *whole.anchors]
    return page_answer("decorated", KINDS[kind](whole, anchors), anchors)
