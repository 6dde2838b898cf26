// START HERE. The page asks how the crawl stands once a second, and shows it; everything else follows from that.
//
//     overview.js   state, totals, charts, reasons, queue, machine      from /status and /history
//     hosts.js      the table of hosts, one host, policy.js             from /hosts and /domains
//     latest.js     what happens now                                    from /events
//     why.js        the story of a URL                                  from /why
//     steering.js   pause, resume, drain, seeds, quarantine
//     charts.js dom.js text.js api.js                                  what those are made of
//
// In a hidden tab nothing is asked. Without an answer the figures turn grey, the banner says since when, and the page
// tries again by itself, less and less often. Nothing grows while it is open: lists and charts are bounded.

import { ask } from "./api.js";
import { find, say } from "./dom.js";
import { keepHosts } from "./hosts.js";
import * as latest from "./latest.js";
import { keepHistory, showStatus } from "./overview.js";
import { keepQuarantine, learnWho, showSteering, whenDone } from "./steering.js";
import * as words from "./text.js";

const EVERY_MS = 1_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

let failures = 0; // in a row
let lostAt = null;
let timer = null;
let isAsking = false;
let isAcquainted = false; // reasons and rights are known

async function look() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    if (!isAcquainted) await getAcquainted();
    const status = await ask("/status");
    found();
    showStatus(status);
    showSteering(status);
    latest.listen(() => later(0));
    // These may be slow, or fail on their own; the state of the crawl does not wait for them.
    for (const part of [keepHistory(), keepHosts(), keepQuarantine(status)]) part.catch(noteAside);
    later(EVERY_MS);
  } catch (trouble) {
    lost(trouble);
  } finally {
    isAsking = false;
  }
}

function noteAside(trouble) {
  if (trouble.status === undefined) console.error(trouble); // our own fault
}

function later(ms) {
  clearTimeout(timer);
  timer = setTimeout(look, ms);
}

async function getAcquainted() {
  const [{ reasons }] = await Promise.all([ask("/reasons"), learnWho()]);
  words.learnReasons(Object.fromEntries(reasons.map(({ reason, explained }) => [reason, explained])));
  isAcquainted = true;
}

// ---- with and without an answer -----------------------------------------------------------------------------------

function found() {
  failures = 0;
  lostAt = null;
  document.body.dataset.link = "good";
  find("#banner").hidden = true;
}

function lost(trouble) {
  noteAside(trouble);
  if (trouble.status === 401 && isAcquainted) return void location.reload(); // the server shows the form for the key
  latest.stop();
  isAcquainted = false; // another server may be there next time, with other keys
  lostAt ??= Date.now() / 1000;
  const waitMs = trouble.waitS ? trouble.waitS * 1000 : RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
  failures += 1;
  document.body.dataset.link = "lost";
  find("#banner").hidden = false;
  const next = `the next try is in ${Math.round(waitMs / 1000)} s`;
  say(find("#banner-text"), `${trouble.message} No figures since ${words.time(lostAt)}; ${next}.`);
  later(waitMs);
}

find("#retry").addEventListener("click", () => later(0));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) latest.stop();
  else later(0);
});
// `/` is the key for searching nearly everywhere.
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  find("#ask-url").focus();
});

whenDone(() => later(0));
look();
