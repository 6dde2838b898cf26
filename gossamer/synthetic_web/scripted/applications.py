"""Scripted hosts: applications that a server sends as a shell, and a browser fills.

    inline         the data is in the page, a script makes text and links of it
    requested      one script for all pages asks its own host for the data
    other_origin   the same, and asks another host
    router         one script for all pages, which has a router of its own: all pages are the same bytes
    scrolling      more comes when somebody scrolls down, four times; the links come last
    slow           the text comes after seconds
    restless       a clock goes on ticking for ever
    renaming       the page changes its own address
    noscript       a page that asks for JavaScript, below words that all its pages share
    hydrated       the text is in the page, and only the links to its own host are made by a script
    modules        scripts that import each other, one of them later
    closed         robots.txt forbids the data: a polite crawler never sees these pages' text
    enhanced       a page like any other, with its text and some of its links; a script makes further ones. Nothing in
                   it tells so, and only who has a look at such pages finds out: it is no part of `scripted`

Data is at /api/HOST/PAGE.json on every scripted host, for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.synthetic_web.answer import Anchor, Answer, Built, Visit
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
from gossamer.synthetic_web.text import text

SLOW_MS = 2500
PARTS = 4  # that scrolling brings
TERMS_BYTES = 600  # of what all pages of a host say
CLOSED_ROBOTS = "User-agent: *\nDisallow: /api/\n"

SHOW = """
const app = document.getElementById("app") || document.querySelector("main");
const number = Number(location.pathname.split("/")[2] || 0);
function add(tag, text, parent) {
  const element = document.createElement(tag);
  element.textContent = text;
  return (parent || app).appendChild(element);
}
function showText(page) {
  document.title = page.title;
  add("h1", page.title);
  page.sentences.forEach((sentence) => add("p", sentence));
}
function showLinks(page) {
  const list = add("ul", "");
  page.links.forEach(([href, text]) => { add("a", text, add("li", "", list)).href = href; });
}
function show(page) { showText(page); showLinks(page); }
"""
FETCH = "const load = () => fetch(API + number + '.json').then((answer) => answer.json());\n"
XHR = """
const load = () => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open("GET", API + number + ".json");
  request.onload = () => done(JSON.parse(request.responseText));
  request.send();
});
"""
SCROLL = """
load().then((page) => {
  let part = 0;
  const mark = document.body.appendChild(document.createElement("div"));
  const size = Math.ceil(page.sentences.length / PARTS);
  document.title = page.title;
  function more() {
    page.sentences.slice(part * size, ++part * size).forEach((sentence) => {
      add("p", sentence).style.height = "600px";
    });
    if (part === PARTS) { eyes.disconnect(); showLinks(page); return; }
    eyes.unobserve(mark);
    setTimeout(() => eyes.observe(mark), 50);
  }
  const eyes = new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) more(); });
  more();
});
""".replace("PARTS", str(PARTS))
RESTLESS = """
load().then(show);
const clock = document.body.appendChild(document.createElement("p"));
setInterval(() => { clock.textContent = "It is " + Date.now() + " now."; }, 40);
"""
RENAMING = """
history.replaceState(null, "", "/at/" + number + "?view=full#top");
load().then(show);
setTimeout(() => history.pushState(null, "", "/later/" + number), 100);
"""
ROUTER = """
const routes = { "": "home", item: "item" };
async function go() {
  app.dataset.route = routes[location.pathname.split("/")[1]] || "missing";
  history.pushState({ number }, "", location.pathname + "?route=" + app.dataset.route);
  show(await load());
}
addEventListener("popstate", go);
document.addEventListener("click", (event) => {
  if (event.target.tagName === "A") { event.preventDefault(); history.pushState(null, "", event.target.href); go(); }
});
go();
"""
MODULE = (
    "import { show, number } from '/show.js';\nimport('/data.js').then((data) => data.load(number)).then(show);\n"
)
MODULE_FILES = {
    "/show.js": SHOW + "export { show, number };\n",
    "/data.js": "export const load = (number) => fetch(API + number + '.json').then((answer) => answer.json());\n",
}
STYLED = '<meta charset="utf-8">\n<link rel="stylesheet" href="/style.css">\n'
PLEASE = "<noscript>You need to enable JavaScript to run this application.</noscript>\n"


class Kind(NamedTuple):
    main: str = ""  # the script of all pages, at /app.js; empty: it is in each page
    is_module: bool = False


KINDS = {
    "inline": Kind(),
    "requested": Kind(FETCH + "load().then(show);\n"),
    "other_origin": Kind(FETCH + "load().then(show);\n"),
    "router": Kind(XHR + ROUTER),
    "scrolling": Kind(FETCH + SCROLL),
    "slow": Kind(FETCH + f"setTimeout(() => load().then(show), {SLOW_MS});\n"),
    "restless": Kind(XHR + RESTLESS),
    "renaming": Kind(XHR + RENAMING),
    "noscript": Kind(FETCH + "load().then(show);\n"),
    "hydrated": Kind(FETCH + "load().then(showLinks);\n"),  # where the text is
    "modules": Kind(MODULE, is_module=True),
    "closed": Kind(FETCH + "load().then(show);\n"),
    "enhanced": Kind(FETCH + "load().then(showLinks);\n"),
}
WITH_TEXT = ("hydrated", "enhanced")


def kind_of(atlas: Atlas, host: int) -> str | None:
    """Which application a host is; None where it is none."""
    kinds = atlas.options.scripted_kinds or tuple(KINDS)
    return kind_at(host - atlas.options.first_scripted, atlas.options.scripted_hosts, kinds)


def permits(atlas: Atlas, host: int, target: str) -> bool:
    return kind_of(atlas, host) != "closed" or not target.startswith("/api/")


def scripted_answer(atlas: Atlas, visit: Visit) -> Answer | None:
    kind, path = kind_of(atlas, visit.host), "/" + "/".join(visit.parts)
    if kind is None:
        return None
    if path == "/robots.txt":
        return file("robots", "text/plain", CLOSED_ROBOTS) if kind == "closed" else None
    page = page_at(path, atlas.options.scripted_pages)
    if page is not None:
        return _page(atlas, visit.host, kind, page)
    if visit.parts[0] == "api":
        return _data(atlas, visit.parts[1:])
    return _script(atlas, visit.host, kind, path) or shared_file(path)


def _script(atlas: Atlas, host: int, kind: str, path: str) -> Answer | None:
    api = f"const API = '{_api(atlas, host, kind)}';\n"
    if path == "/app.js" and KINDS[kind].main:
        return file(
            "script", JAVASCRIPT, KINDS[kind].main if KINDS[kind].is_module else api + SHOW + KINDS[kind].main
        )
    if KINDS[kind].is_module and path in MODULE_FILES:
        return file("script", JAVASCRIPT, api + MODULE_FILES[path])
    return None


def _data(atlas: Atlas, parts: Sequence[str]) -> Answer | None:
    """/api/HOST/PAGE.json"""
    if len(parts) != 2 or not parts[0].isdecimal() or not parts[1].endswith(".json"):
        return None
    number, pages = parts[1].removesuffix(".json"), atlas.options.scripted_pages
    page = 0 if number == "0" else page_at(f"/item/{number}", pages)
    if page is None or kind_of(atlas, int(parts[0])) is None:
        return None
    return file("data", "application/json", content(atlas, int(parts[0]), page, pages).as_json())


def _api(atlas: Atlas, host: int, kind: str) -> str:
    if kind != "other_origin":
        return f"/api/{host}/"
    first, hosts = atlas.options.first_scripted, atlas.options.scripted_hosts
    return atlas.url(first + (host - first + 1) % hosts, f"/api/{host}/")


def _page(atlas: Atlas, host: int, kind: str, page: int) -> Answer:
    whole = content(atlas, host, page, atlas.options.scripted_pages)
    loads = [f"{_api(atlas, host, kind)}{page}.json"] if KINDS[kind].main else []
    loads += ["/app.js"] if KINDS[kind].main else []
    loads += list(MODULE_FILES) if KINDS[kind].is_module else []
    if kind == "closed":
        body, built = _shell(whole.title, '<script src="/app.js"></script>\n'), None
    else:
        body = _body(atlas, host, kind, whole)
        said = "" if kind in WITH_TEXT else whole.sentences[0]
        built = Built(whole.anchors, said, tuple(loads)) if said or whole.anchors else None
    return page_answer("scripted", body, _sent(atlas, kind, whole), built)


def _sent(atlas: Atlas, kind: str, whole: Content) -> tuple[Anchor, ...]:
    """The links that are in the page as it is sent."""
    match kind:
        case "hydrated":
            return (Anchor(atlas.url(0), "where you came from"),)
        case "enhanced":
            return (Anchor("/", "home"), *whole.anchors[:1])
    return ()


def _body(atlas: Atlas, host: int, kind: str, whole: Content) -> str:
    source = '<script src="/app.js"></script>\n'
    match kind:
        case "inline":
            data = f'<script type="application/json" id="data">{whole.as_json()}</script>\n'
            build = "show(JSON.parse(document.getElementById('data').textContent));"
            return _shell(whole.title, f"{data}<script>{SHOW}{build}</script>\n")
        case "router":
            return _shell("Loading", source)
        case "modules":
            return _shell(whole.title, '<script type="module" src="/app.js"></script>\n')
        case "noscript":
            shared = text(atlas.options.seed).sentences(atlas.chance(f"terms/{host}"), TERMS_BYTES)
            return _shell(whole.title, f"{PLEASE}<footer><p>{' '.join(shared)}</p></footer>\n{source}")
        case "hydrated" | "enhanced":
            return render(whole.title, whole.sentences, _sent(atlas, kind, whole), footer=f"</p>{source}<p>Here.")
    return _shell(whole.title, source)


def _shell(title: str, scripts: str) -> str:
    return shell(title, STYLED, f'<img src="/logo.png" alt="">\n{scripts}')
