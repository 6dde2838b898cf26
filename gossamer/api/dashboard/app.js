// START HERE. The page asks how the crawl stands once a second, and shows it; everything else follows from that.
//
//     router.js     which view is shown, and what its address is
//     overview.js   state, totals, charts, reasons, queue, machine      from /status and /history
//     trends.js     everything over time                                from /history
//     pages.js      the list of pages                                   from /pages
//     hosts.js      the table of hosts; host.js one of them             from /hosts
//     nodes.js      nodes and partitions of a cluster                   from /nodes
//     lists.js      policies, seeds, settings, exports, log
//     latest.js     what happens now                                    from /events
//     why.js        the story of a URL                                  from /why
//     steering.js   pause, resume, drain, seeds, quarantine             block.js policy.js
//     charts.js dom.js text.js api.js keys.js                           what those are made of
//
// In a hidden tab nothing is asked. Without an answer the figures turn grey, the banner says since when, and the page
// tries again by itself, less and less often. A server that ends with its crawl says so first, and the last figures
// stay. Nothing grows while it is open: lists and charts are bounded.

import { ask } from "./api.js";
import { find, say } from "./dom.js";
import { keepHost } from "./host.js";
import { keepHosts } from "./hosts.js";
import "./keys.js";
import * as latest from "./latest.js";
import { keepLists } from "./lists.js";
import { keepNodes, showCluster } from "./nodes.js";
import { keepHistory, showStatus } from "./overview.js";
import { buildFilters, keepPages } from "./pages.js";
import { here, show, whenMoved } from "./router.js";
import { keepQuarantine, learnWho, showSteering, whenDone } from "./steering.js";
import { keepTrends } from "./trends.js";
import { followAddress } from "./why.js";
import * as words from "./text.js";

const EVERY_MS = 1_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

// What each view keeps up to date; `isNew`: it was just opened, or its address has changed.
const KEEP = {
  overview: async (look) => Promise.all([keepHistory(), keepHosts(look)]),
  trends: keepTrends,
  pages: keepPages,
  hosts: keepHosts,
  host: keepHost,
  nodes: keepNodes,
  policies: keepLists,
  seeds: keepLists,
  settings: keepLists,
  exports: keepLists,
  log: keepLists,
};

let failures = 0; // in a row
let lostAt = null;
let timer = null;
let isAsking = false;
let isAcquainted = false; // reasons and rights are known
let isNew = true; // the view
let endedAt = -Infinity;

async function look() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    if (!isAcquainted) await getAcquainted();
    const status = await ask("/status");
    if (performance.now() < endedAt + RETRY_MS[2]) return; // the answer of a server that is about to go
    found();
    showStatus(status);
    showSteering(status);
    showCluster(status);
    latest.listen(() => later(0), ended);
    keepView();
    keepQuarantine(status).catch(noteAside);
    later(EVERY_MS);
  } catch (trouble) {
    lost(trouble);
  } finally {
    isAsking = false;
  }
}

/** It may be slow, or fail on its own; the state of the crawl does not wait for it. */
function keepView() {
  const wasNew = isNew;
  isNew = false;
  KEEP[here().view]({ isNew: wasNew }).catch(noteAside);
}

whenMoved(() => {
  isNew = true;
  if (isAcquainted) keepView();
});

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
  buildFilters(reasons);
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
  const waitMs = trouble.waitS ? trouble.waitS * 1000 : RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
  failures += 1;
  isAcquainted = false; // another server may be there next time, with other keys
  later(waitMs);
  if (document.body.dataset.link === "ended") return; // it has said why, and the last figures are these
  lostAt ??= Date.now() / 1000;
  document.body.dataset.link = "lost";
  find("#banner").hidden = false;
  const next = `the next try is in ${Math.round(waitMs / 1000)} s`;
  say(find("#banner-text"), `${trouble.message} No figures since ${words.time(lostAt)}; ${next}.`);
}

/** The crawl is over, and its server with it. What it said last stays on the page. */
function ended(status) {
  endedAt = performance.now();
  latest.stop();
  showStatus(status);
  showSteering(status);
  document.body.dataset.link = "ended";
  find("#banner").hidden = false;
  const how = status.state === "complete" ? "The crawl is complete" : "The crawl has ended";
  say(find("#banner-text"), `${how}: these are its last figures, of ${words.time(status.at)}. gossamer serve ${status.dir} shows all of it.`);
  later(RETRY_MS.at(-1));
}

find("#retry").addEventListener("click", () => later(0));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) latest.stop();
  else later(0);
});

find("#all-crawls").hidden = location.pathname === "/"; // it is one of several
whenDone(() => later(0));
show();
followAddress();
look();
