// The table of hosts: sorted, filtered and paged by the server, because a crawl may know millions. How it is sorted and
// filtered is in the address. A name leads to the page of that host (host.js).

import { ask, query } from "./api.js";
import { askToBlock, unblock, whenBlocked } from "./block.js";
import { find, foreign, make, match, say, visible } from "./dom.js";
import { pager } from "./pages.js";
import * as policy from "./policy.js";
import { change, here, hostAddress, parameter } from "./router.js";
import { canControl, report } from "./steering.js";
import * as words from "./text.js";

const FEW = 15; // on the overview
const MANY = 50;
const EVERY_MS = 5_000;
const TYPING_MS = 250;
const LATELY_MS = 20_000;

let askedAt = -Infinity;

const sorted = () => ({ sort: parameter("sort") || "queued", order: parameter("order") || "desc" });

export async function keepHosts({ isNew }) {
  if (!isNew && performance.now() - askedAt < EVERY_MS) return;
  askedAt = performance.now();
  markSorted();
  const limit = here().view === "hosts" ? MANY : FEW;
  const wanted = { ...sorted(), filter: parameter("filter"), cursor: parameter("cursor"), limit };
  const asked = location.hash;
  const answer = await ask(query("/hosts", wanted));
  if (location.hash === asked) show(answer);
}

// ---- table --------------------------------------------------------------------------------------------------------

function show({ hosts, next_cursor }) {
  match(find("#hosts"), hosts, ({ host }) => host, create, update);
  const none = find("#hosts-none");
  none.hidden = hosts.length > 0;
  say(none, parameter("filter") ? "No host of that name." : "No hosts yet.");
  pager(find("#hosts-pager"), next_cursor);
}

function create({ host }) {
  const name = make("a.url", { href: hostAddress(host), title: host }, foreign(host));
  const block = make("button.quiet-button", { type: "button", onclick: () => toggleBlock(host) });
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, name, make("span.tag")),
    ...["number", "number", "number", "number.roomy", "number", "roomy.reason"].map((kind) => make(`td.${kind}`)),
    make("td.row-actions.roomy", {}, block),
  );
}

function update(row, host) {
  const [, pages, queued, errors, bytes, delay, why] = row.children;
  say(pages, words.count(host.pages));
  say(queued, words.count(host.queued));
  say(errors, words.count(host.errors));
  errors.classList.toggle("bad", host.errors > 0);
  say(bytes, words.size(host.bytes));
  say(delay, host.requests ? words.span(host.delay_s) : "–");
  const told = host.requests ? host.delay_explained : "not asked yet";
  say(why, host.last_error ? `${told} · ${visible(words.word(host.last_error))}` : told);
  why.title = why.textContent;
  row.dataset.site = host.site;
  showPolicy(row, lately.get(host.host) ?? lately.get(host.site) ?? host.policy);
}

function showPolicy(row, { blocked, paused, ...others }) {
  const tag = row.firstElementChild.lastElementChild;
  const button = row.lastElementChild.firstElementChild;
  say(tag, policy.inWords({ blocked, paused, ...others }));
  tag.classList.toggle("strong", blocked || paused);
  button.hidden = !canControl();
  say(button, blocked ? "Unblock" : "Block …");
  button.setAttribute("aria-label", `${blocked ? "Unblock" : "Block"} ${row.dataset.key}`);
  row.dataset.blocked = blocked;
}

/** What was just set. A list of hosts may be some seconds old, so for a while this goes before it. */
const lately = new Map();

function decided({ domain, in_force }) {
  lately.set(domain, in_force);
  setTimeout(() => lately.delete(domain), LATELY_MS);
  for (const row of find("#hosts").children) {
    if (row.dataset.key === domain || row.dataset.site === domain) showPolicy(row, in_force);
  }
}
whenBlocked(decided);
policy.whenTold(decided);

async function toggleBlock(host) {
  const row = [...find("#hosts").children].find((each) => each.dataset.key === host);
  if (row?.dataset.blocked !== "true") await askToBlock(host);
  else await unblockHost(host, row.dataset.site);
}

/** Where its site is blocked, the host's own policy has nothing to take back. */
export async function unblockHost(host, site) {
  try {
    const { policy: own } = await ask(policy.ofHost(host));
    if (own.blocked) await unblock(policy.ofHost(host), host);
    else await unblock(policy.ofDomain(site), site);
  } catch (trouble) {
    report(trouble);
  }
}

// ---- order and filter ---------------------------------------------------------------------------------------------

find("#hosts-head").addEventListener("click", (event) => {
  const head = event.target.closest("button")?.closest("th[data-sort]");
  if (!head) return;
  const { sort } = head.dataset;
  const before = sorted();
  const first = sort === "host" ? "asc" : "desc"; // names from A, figures from the largest
  change({ sort, order: before.sort !== sort ? first : before.order === "asc" ? "desc" : "asc", cursor: "" });
});

function markSorted() {
  const { sort, order } = sorted();
  for (const head of find("#hosts-head").querySelectorAll("[data-sort]")) {
    if (head.dataset.sort !== sort) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", order === "asc" ? "ascending" : "descending");
  }
  const search = find("#hosts-search");
  if (search !== document.activeElement) search.value = parameter("filter");
}

let typing = null;
find("#hosts-search").addEventListener("input", ({ target }) => {
  clearTimeout(typing);
  typing = setTimeout(() => change({ filter: target.value.trim(), cursor: "" }, { isSmall: true }), TYPING_MS);
});
