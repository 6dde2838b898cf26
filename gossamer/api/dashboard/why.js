// Why is a URL where it is? Its story in sentences, the way back to the seed, and the stored content.
//
// Stored content is what strangers wrote. It is shown as text and saved as a file, never opened as a page here.

import { ask, BASE, fetchPath, query } from "./api.js";
import { facts, find, foreign, make, open, visible } from "./dom.js";
import { change, parameter, whenMoved } from "./router.js";
import * as words from "./text.js";

const SHOWN_CHARACTERS_MAX = 20_000;

const dialog = find("#why-dialog");
const body = find("#why-body");
let asked = 0; // a slow answer must not take the place of a later one
let shown = ""; // the URL that the dialog is about

/** A URL, wherever one is shown: it can be asked about, and is never a link to follow. */
export const urlButton = (url) =>
  make("button.url", { type: "button", title: visible(url), onclick: () => lookUp(url) }, foreign(url));

/** It becomes part of the address, so that it can be sent to others; closing the dialog takes it out again. */
export const lookUp = (url) => change({ why: url });

export function followAddress() {
  const url = parameter("why");
  if (url === shown) return;
  shown = url;
  if (url) load(url);
  else dialog.close();
}
whenMoved(followAddress);

async function load(url) {
  const mine = ++asked;
  find("#why-title").replaceChildren("Why?");
  body.replaceChildren(make("p.quiet", { role: "status" }, "Looking it up …"));
  open(dialog);
  try {
    const why = await ask(query("/why", { url }));
    if (mine === asked) show(why);
  } catch (trouble) {
    if (mine === asked) body.replaceChildren(make("p.wrong", { role: "alert" }, trouble.message));
  }
}

function show(why) {
  const { page } = why;
  find("#why-title").replaceChildren(foreign(page?.title || "Why?"));
  body.replaceChildren(
    make("p.address", {}, foreign(why.url ?? why.asked)),
    make(
      "p.verdict",
      {},
      make(`span.pill.of-${why.state.replace(/[ _]/g, "-")}`, {}, words.word(why.state)),
      " ",
      why.explained ?? "",
    ),
    make("ul.story", {}, ...why.story.map((line) => make("li", {}, foreign(line)))),
    ...trail("Redirects to", why.leads_to),
    ...trail("Found on", why.found_by, "the seed"),
    ...record(page),
    ...rendering(page),
    ...content(page),
  );
}

/** A way through other URLs, each of which can be asked about in turn. */
function trail(name, urls, last = "") {
  if (!urls.length) return [];
  const entry = (url, i) =>
    make(
      "li",
      {},
      urlButton(url),
      last && i === urls.length - 1 ? make("span.quiet", {}, ` ${last}`) : null,
    );
  return [make("h3", {}, name), make("ol.trail", {}, ...urls.map(entry))];
}

function record(page) {
  if (!page?.fetched_at) return [];
  const pairs = [
    ["Status", page.status],
    ["Asked", page.fetched_at && words.moment(page.fetched_at)],
    ["Next visit", page.next_visit_at && words.moment(page.next_visit_at)],
    ["Media type", page.media_type],
    ["Language", page.language],
    ["Size", page.bytes ? words.size(page.bytes) : null],
    ["Links on it", page.links || null],
    ["Content", page.verdict],
    ["SHA-256", page.content_hash],
    ["Stored in", page.storage_path],
  ];
  return [make("h3", {}, "Record"), facts("", pairs)];
}

/** What a browser was asked for, what it took, and how the page looked there. */
function rendering(page) {
  if (!page?.rendered) return [];
  const { rendered } = page;
  const pairs = [
    ["Requests", String(rendered.requests)],
    ["Unanswered", rendered.missing || null],
    ["Loaded", rendered.bytes ? words.size(rendered.bytes) : null],
    ["Took", words.span(rendered.seconds)],
    ["Gained", gained(rendered)],
    ["Fault", rendered.fault],
  ];
  const src = `${BASE}${query("/pages/picture", { url: page.url })}`;
  const picture = rendered.picture_bytes ? [make("img.picture", { src, alt: "The page as the browser showed it" })] : [];
  return [make("h3", {}, "Shown by a browser"), facts("", pairs), ...picture];
}

function gained({ text_gained, links_gained }) {
  const parts = [
    text_gained ? words.counted(text_gained, "character") : null,
    links_gained ? words.counted(links_gained, "link") : null,
  ];
  return parts.filter(Boolean).join(", ") || "nothing";
}

function content(page) {
  if (!page?.archive) return [];
  const place = make("div.content", { role: "status" });
  const button = (name, action) => make("button", { type: "button", onclick: () => attempt(place, action) }, name);
  return [
    make("h3", {}, "Stored content"),
    make(
      "div.buttons",
      {},
      button("Show as text", () => showContent(page, place)),
      button("Save", () => save(page)),
    ),
    place,
  ];
}

async function attempt(place, action) {
  try {
    await action();
  } catch (trouble) {
    place.replaceChildren(make("p.wrong", {}, trouble.message));
  }
}

const contentOf = (page) => fetchPath(query("/pages/content", { url: page.url }));

async function showContent(page, place) {
  const text = await (await contentOf(page)).text();
  const isCut = text.length > SHOWN_CHARACTERS_MAX;
  place.replaceChildren(
    make("pre", { tabindex: "0", "aria-label": "Stored content" }, text.slice(0, SHOWN_CHARACTERS_MAX)),
    isCut ? make("p.quiet", {}, `${words.count(text.length)} characters in all; this is how it begins.`) : "",
  );
}

async function save(page) {
  const bytes = await (await contentOf(page)).arrayBuffer();
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  make("a", { href: address, download: fileName(page) }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The last part of the path, of letters that no file system minds. */
const fileName = ({ url }) => new URL(url).pathname.split("/").at(-1).replace(/[^\w.-]+/g, "_").slice(0, 80) || "it";

dialog.addEventListener("close", () => {
  body.replaceChildren();
  shown = "";
  if (parameter("why")) change({ why: "" });
});

find("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const url = find("#ask-url").value.trim();
  if (url) lookUp(url);
});
