// What happens now: pages, redirects, failures and refusals as they come, newest first.
//
// The list is bounded, and drawn at most four times a second however much happens. Held, it stands still and counts
// what it leaves out. In a hidden tab nothing is listened to at all.

import { BASE } from "./api.js";
import { choice, find, foreign, make, say } from "./dom.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const ROWS_MAX = 120;
const DRAW_MS = 250;
const KINDS = ["page", "redirect", "failure", "refusal", "said"];

const list = find("#latest");
const note = find("#latest-note");
let source = null;
let waiting = []; // events that are not drawn yet, oldest first
let timer = null;
let isHeld = false;
let passed = 0; // not shown: while held, or left out by the server

/** `ended` hears the last figures of a crawl whose server ends with it. */
export function listen(stateChanged, ended) {
  if (source) return;
  source = new EventSource(`${BASE}/events`);
  for (const kind of KINDS) source.addEventListener(kind, (event) => happened(JSON.parse(event.data)));
  source.addEventListener("left_out", (event) => pass(JSON.parse(event.data).count));
  source.addEventListener("state", stateChanged);
  source.addEventListener("ended", (event) => ended(JSON.parse(event.data)));
  // Where the connection broke the browser connects again by itself; where the server said no, app.js does.
  source.addEventListener("error", () => source?.readyState === EventSource.CLOSED && stop());
}

export function stop() {
  source?.close();
  source = null;
}

function happened(event) {
  if (isHeld) {
    pass(1);
    return;
  }
  waiting.push(event);
  if (waiting.length > ROWS_MAX) waiting.shift();
  timer ??= setTimeout(showWaiting, DRAW_MS);
}

function pass(count) {
  passed += count;
  say(note, isHeld ? `held, ${words.count(passed)} since` : `${words.count(passed)} left out`);
}

function showWaiting() {
  timer = null;
  const events = waiting.reverse();
  waiting = [];
  list.prepend(...events.map(row));
  while (list.children.length > ROWS_MAX) list.lastElementChild.remove();
  find("#latest-none").hidden = true;
}

function row(event) {
  const isBad = event.kind === "failure"; // a refusal is a decision
  const mark = event.status ?? (event.reason ? words.word(event.reason) : event.kind);
  return make(
    `li${isBad ? ".bad" : ""}`,
    {},
    make("time.quiet", { datetime: event.at }, words.time(event.at)),
    make("span.mark", { title: event.reason ? words.meaning(event.reason) : null }, String(mark)),
    event.url ? urlButton(event.url) : make("span.said", {}, foreign(event.note)),
    make("span.quiet.note", {}, foreign(event.url ? noteOf(event) : "")),
  );
}

function noteOf(event) {
  if (event.kind === "page") return [words.size(event.bytes), took(event), event.note].filter(Boolean).join(" · ");
  return event.note || (event.reason ? words.meaning(event.reason) : "");
}

const took = ({ took_s }) => (took_s ? `${Math.round(took_s * 1000)} ms` : "");

choice(find("#latest-choice"), (value) => list.classList.toggle("only-bad", value === "failures"));

find("#latest-hold").addEventListener("click", ({ currentTarget }) => {
  isHeld = !isHeld;
  passed = 0;
  currentTarget.setAttribute("aria-pressed", String(isHeld));
  say(note, isHeld ? "held" : "");
});
