// The page of one host: what it gave, its pages over time, what went wrong, what comes next, its policy or its site's,
// its robots.txt.

import { ask, tell } from "./api.js";
import { askToBlock } from "./block.js";
import { Chart, bars, reasonRows } from "./charts.js";
import { facts, find, foreign, make, say } from "./dom.js";
import { unblockHost } from "./hosts.js";
import * as policy from "./policy.js";
import { address, here } from "./router.js";
import { canControl, inform, report } from "./steering.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const EVERY_MS = 5_000;

const place = find("#host-page");
let askedAt = -Infinity;
let shown = null; // the name, and the parts that change

export async function keepHost({ isNew }) {
  const { name } = here();
  if (!isNew && shown?.name === name && performance.now() - askedAt < EVERY_MS) return;
  askedAt = performance.now();
  if (shown?.name !== name) {
    shown = null;
    place.replaceChildren(make("p.quiet", { role: "status" }, "Looking it up …"));
  }
  try {
    const path = `/hosts/${encodeURIComponent(name)}`;
    const [host, urls] = await Promise.all([ask(path), ask(`${path}/urls`)]);
    if (here().name !== name) return;
    if (shown === null) await build(host);
    update(host, urls);
  } catch (trouble) {
    if (here().name === name) place.replaceChildren(make("p.wrong", { role: "alert" }, trouble.message));
  }
}

const card = (what, title, ...children) => make(`section.card${what}`, {}, make("header", {}, make("h2", {}, title)), ...children);

async function build(host) {
  const { host: name } = host;
  const parts = {
    name,
    facts: make("div"),
    states: make("ul.states"),
    reasons: make("ol.bars.trouble"),
    next: make("ol.trail"),
    robots: make("div"),
    note: make("p.quiet"),
    block: make("button", { type: "button", "data-steers": true }),
    policy: canControl() ? make("div") : null,
  };
  parts.block.addEventListener("click", () => (parts.isBlocked ? unblockHost(name, host.site) : askToBlock(name)));
  const again = make("button", { type: "button", "data-steers": true, onclick: () => tryAgain(name) }, "Try failures again");
  const chartPlace = make("div.chart");
  place.replaceChildren(
    make(
      "header.host-head",
      {},
      make("h2", {}, foreign(name)),
      make("div.tools", {}, make("a.button", { href: address("pages", { host: name }) }, "Its pages"), again, parts.block),
    ),
    card(".span-8", "Last visits of its URLs, over time", chartPlace, parts.note),
    card(".span-4", "What is known", parts.facts),
    card(".span-4", "URLs by state", parts.states),
    card(".span-4", "Why URLs failed or were refused", parts.reasons),
    card(".span-4", "Next in its queue", parts.next),
    ...(parts.policy ? [card(".span-4", "Policy", parts.policy)] : []),
    card(".span-8.robots", "robots.txt", parts.robots),
  );
  parts.chart = new Chart(chartPlace, {
    format: words.compact,
    summary: ([pages, troubles]) => `${sum(pages)} pages, and ${sum(troubles)} URLs that went wrong, by the time of their last visit`,
  });
  shown = parts;
  if (parts.policy) await choosePolicy(host);
}

const sum = ({ points }) => words.count(points.reduce((total, [, value]) => total + value, 0));

function update(host, urls) {
  shown.isBlocked = host.policy.blocked;
  say(shown.block, host.policy.blocked ? "Unblock" : "Block …");
  shown.facts.replaceChildren(known(host));
  const state = ([name, count]) =>
    make("li", {}, make("a", { href: address("pages", { host: host.host, state: name }) }, words.word(name)), make("span", {}, words.count(count)));
  shown.states.replaceChildren(...Object.entries(urls.states).sort((a, b) => b[1] - a[1]).map(state));
  const pagesOf = (reason) => address("pages", { host: host.host, reason });
  bars(shown.reasons, reasonRows(urls.reasons, words.word, words.count, pagesOf));
  if (!urls.reasons.length) shown.reasons.replaceChildren(make("li.nothing", {}, "Nothing."));
  shown.next.replaceChildren(...host.next_urls.map((url) => make("li", {}, urlButton(url))));
  if (!host.next_urls.length) shown.next.replaceChildren(make("li.nothing", {}, "Nothing is queued."));
  const copies = host.robots.flatMap(robots);
  shown.robots.replaceChildren(...(copies.length ? copies : [make("p.nothing", {}, "Not asked for yet.")]));
  const points = (field) => urls.visits.map((visit) => [Date.parse(visit.at) / 1000, visit[field]]);
  const lines = [
    { name: "pages", className: "main", filled: true, points: points("pages") },
    { name: "went wrong", className: "bad", filled: false, points: points("troubles") },
  ];
  if (urls.visits.length) shown.chart.show(lines, lines[0].points[0][0], lines[0].points.at(-1)[0]);
  const per = urls.visits.length ? `a step is ${words.span(urls.step_s)}` : "";
  say(shown.note, urls.is_whole ? per : `${per}; of the first ${words.count(urls.looked_at)} URLs`);
}

function known(host) {
  return facts("", [
    ["Site", host.site],
    ["Pages", words.count(host.pages)],
    ["Queued", words.count(host.queued)],
    ["Requests", words.count(host.requests)],
    ["Received", words.size(host.bytes)],
    ["Errors", `${words.count(host.errors)}${host.failures_in_a_row ? `, ${host.failures_in_a_row} in a row` : ""}`],
    ["Last error", host.last_error && words.word(host.last_error)],
    ["Delay", host.requests ? `${words.span(host.delay_s)}: ${host.delay_explained}` : null],
    ...host.origins_away.map((away) => ["Does not answer", `${away.why}; next try in ${words.span(away.next_try_in_s)}`]),
    ["May be asked", host.ready_in_s > 0 ? `in ${words.span(host.ready_in_s)}` : "now"],
    ["Last page", host.last_crawled_at && words.moment(host.last_crawled_at)],
    ["Links from other sites", words.count(host.in_links)],
    ["Policy in force", policy.inWords(host.policy)],
  ]);
}

function robots(copy) {
  const answer = copy.status === null ? "no answer" : `status ${copy.status}`;
  const note = [
    answer,
    copy.age_s !== null && `${words.span(copy.age_s)} old`,
    copy.crawl_delay_s !== null && `Crawl-delay ${copy.crawl_delay_s} s`,
    copy.moved_to && `moved to ${copy.moved_to}`,
  ].filter(Boolean);
  return [
    make("h3", {}, foreign(`${copy.origin}/robots.txt`)),
    make("p.quiet", {}, foreign(note.join(", "))),
    copy.body ? make("pre", { tabindex: "0", "aria-label": "robots.txt" }, copy.body) : null,
  ].filter(Boolean);
}

// ---- what can be done ---------------------------------------------------------------------------------------------

/** For this host alone, or for its whole site. */
async function choosePolicy(host) {
  const site = await ask(policy.ofDomain(host.site)).catch(() => null);
  const rest = make("div");
  const fill = async (path) => rest.replaceChildren(await policy.form(path, policy.told));
  const button = (name, path, isFirst) =>
    make("button", { type: "button", "aria-pressed": String(isFirst), onclick: ({ currentTarget }) => choose(currentTarget, path) }, name);
  const choose = (chosen, path) => {
    for (const each of chosen.parentElement.children) each.setAttribute("aria-pressed", String(each === chosen));
    fill(path).catch(report);
  };
  const reach =
    site?.kind === "site"
      ? make("div.choice", { role: "group", "aria-label": "What the policy is for" }, button("This host", policy.ofHost(host.host), true), button("Its whole site", policy.ofDomain(host.site), false))
      : null;
  await fill(policy.ofHost(host.host));
  shown.policy.replaceChildren(...[reach, rest].filter(Boolean));
}

async function tryAgain(name) {
  try {
    const { urls, partitions_left } = await tell("/retry", { domain: name });
    inform(partitions_left ? `Whoever owns ${name} next will try again.` : urls ? `${words.counted(urls, "URL")} of ${name} queued again.` : `Nothing of ${name} waits for an outage to end.`);
  } catch (trouble) {
    report(trouble);
  }
}
