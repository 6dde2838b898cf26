// The list of pages, with the filters of the API. All of them are in the address: what one sees can be sent to others.

import { ask, query } from "./api.js";
import { find, foreign, make, match, say } from "./dom.js";
import { address, change, here, parameter } from "./router.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const LIMIT = 50;
const EVERY_MS = 10_000;
const STATES = ["queued", "in_flight", "waiting", "done", "failed", "refused", "quarantined"];
const VERDICTS = ["original", "same", "near", "unchanged"];

let reasons = [];

/** Once: the filters, when the reasons are known. */
export function buildFilters(known) {
  reasons = known.map(({ reason }) => reason);
  const field = (name, label, control) => {
    control.id = `pages-${name}`;
    return make("div.field", {}, make("label", { for: control.id }, label), control);
  };
  const option = (value) => make("option", { value }, value ? words.word(value) : "any");
  const choose = (name, label, values) => field(name, label, make("select", { name }, ...["", ...values].map(option)));
  const type = (name, label, attributes) => field(name, label, make("input", { name, autocomplete: "off", ...attributes }));
  find("#pages-filters").replaceChildren(
    choose("state", "State", STATES),
    type("status", "Status", { type: "number", min: 100, max: 999, placeholder: "200" }),
    choose("reason", "Reason", reasons),
    type("host", "Host", { type: "search", placeholder: "example.com", spellcheck: "false" }),
    choose("verdict", "Content", VERDICTS),
    type("since", "Fetched since", { type: "datetime-local" }),
    make("button", { type: "button", id: "pages-clear" }, "Clear"),
  );
  find("#pages-clear").addEventListener("click", () => change(Object.fromEntries([...NAMES, "cursor"].map((name) => [name, ""]))));
}

const NAMES = ["state", "status", "reason", "host", "verdict", "since"];

find("#pages-filters").addEventListener("change", ({ target }) => {
  if (target.checkValidity()) change({ [target.name]: valueOf(target), cursor: "" });
});
find("#pages-filters").addEventListener("submit", (event) => event.preventDefault());

const valueOf = ({ name, value }) => (name === "since" && value ? new Date(value).toISOString() : value.trim());

/** A moment as a field for one has it: in the reader's own time, without a zone. */
function localMoment(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

let askedAt = -Infinity;

export async function keepPages({ isNew }) {
  if (!isNew && performance.now() - askedAt < EVERY_MS) return;
  askedAt = performance.now();
  const wanted = Object.fromEntries([...NAMES, "cursor"].map((name) => [name, parameter(name)]));
  for (const name of NAMES) {
    const field = find("#pages-filters").elements[name];
    if (field && field !== document.activeElement) field.value = name === "since" ? localMoment(wanted.since) : wanted[name];
  }
  const asked = location.hash;
  try {
    const answer = await ask(query("/pages", { ...wanted, limit: LIMIT }));
    if (location.hash === asked) show(answer, wanted);
  } catch (trouble) {
    if (location.hash === asked) refuse(trouble);
  }
}

function show({ pages, next_cursor }, wanted) {
  match(find("#pages-rows"), pages, ({ url }) => url, create, update);
  const isFiltered = NAMES.some((name) => wanted[name]);
  find("#pages-none").hidden = pages.length > 0;
  say(find("#pages-none"), next_cursor ? "None among those looked at so far; there are more." : isFiltered ? "No page is like that." : "No pages yet.");
  say(find("#pages-found"), pages.length ? `${words.counted(pages.length, "page")}${next_cursor ? ", and there may be more" : ""}` : "");
  pager(find("#pages-pager"), next_cursor);
}

function refuse(trouble) {
  find("#pages-rows").replaceChildren();
  find("#pages-none").hidden = false;
  say(find("#pages-none"), trouble.message);
}

/** On from here, and back to the begin. The browser's Back does the rest. */
export function pager(place, next) {
  const { path, parameters } = here();
  const others = Object.fromEntries([...parameters].filter(([name]) => name !== "cursor"));
  place.hidden = !next && !parameter("cursor");
  const link = (name, cursor) => make("a.button", { href: address(path, { ...others, cursor }) }, name);
  place.replaceChildren(parameter("cursor") ? link("From the start", "") : "", next ? link("More", next) : "");
}

function create({ url }) {
  return make("tr", {}, make("th", { scope: "row" }, urlButton(url)), ...["", "", ".roomy", ".roomy", ".number.roomy", ".number.roomy", ".roomy"].map((kind) => make(`td${kind}`)));
}

function update(row, page) {
  const [, state, answer, content, type, size, depth, fetched] = row.children;
  say(state, words.word(page.state));
  state.className = page.state === "failed" ? "bad" : "";
  say(answer, [page.status, page.reason && words.word(page.reason)].filter(Boolean).join(" "));
  answer.title = page.explained ?? "";
  const isShown = page.rendered && page.rendered.text_gained + page.rendered.links_gained > 0;
  say(content, [page.verdict, isShown && "shown by a browser"].filter(Boolean).join(", "));
  content.title = page.rendered ? cost(page.rendered) : "";
  type.replaceChildren(foreign(page.media_type ?? ""));
  say(size, page.bytes ? words.size(page.bytes) : "");
  say(depth, String(page.depth));
  say(fetched, page.fetched_at ? words.day(page.fetched_at) : "");
}

const cost = ({ requests, bytes, seconds }) =>
  `Rendering took ${words.counted(requests, "request")}, ${words.size(bytes)}, ${words.span(seconds)}.`;

/** Where the pages of a host, or for a reason, are listed. */
export const pagesAddress = (wanted) => address("pages", wanted);
