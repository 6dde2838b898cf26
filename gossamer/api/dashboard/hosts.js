// The table of hosts: sorted, filtered and paged by the server, because a crawl may know millions. A host opens with
// its policy, what it is to be asked next, and its robots.txt.

import { ask, query } from "./api.js";
import { facts, find, foreign, make, match, open, say, visible } from "./dom.js";
import * as policy from "./policy.js";
import { canControl, inform, report } from "./steering.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const LIMIT = 15;
const EVERY_MS = 5_000;
const TYPING_MS = 250;
const LATELY_MS = 20_000;

// `cursors`: of the pages of the table up to this one.
const view = { sort: "queued", order: "desc", filter: "", cursors: [null] };
let isAsking = false;
let askedAt = -Infinity;
let next = null;

export async function keepHosts() {
  if (performance.now() - askedAt > EVERY_MS) await load();
}

async function load() {
  if (isAsking) return;
  isAsking = true;
  askedAt = performance.now();
  try {
    const { sort, order, filter, cursors } = view;
    const answer = await ask(query("/hosts", { sort, order, filter, limit: LIMIT, cursor: cursors.at(-1) }));
    next = answer.next_cursor;
    show(answer.hosts);
  } finally {
    isAsking = false;
  }
}

/** Ask again at once, from the first page on. */
function restart(changes) {
  Object.assign(view, changes, { cursors: [null] });
  load().catch(report);
}

// ---- table --------------------------------------------------------------------------------------------------------

function show(hosts) {
  match(find("#hosts"), hosts, ({ host }) => host, create, update);
  const none = find("#hosts-none");
  none.hidden = hosts.length > 0;
  say(none, view.filter ? "No host of that name." : "No hosts yet.");
  const first = (view.cursors.length - 1) * LIMIT;
  find("#hosts-pager").hidden = first === 0 && next === null;
  find("#hosts-back").disabled = first === 0;
  find("#hosts-more").disabled = next === null;
  say(find("#hosts-range"), hosts.length ? `${words.count(first + 1)} to ${words.count(first + hosts.length)}` : "");
}

function create({ host }) {
  const name = make("button.url", { type: "button", title: host, onclick: () => showHost(host) }, foreign(host));
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
  showPolicy(row, lately.get(host.host) ?? host.policy);
}

function showPolicy(row, { blocked, paused, ...others }) {
  const tag = row.firstElementChild.lastElementChild;
  const button = row.lastElementChild.firstElementChild;
  say(tag, policy.inWords({ blocked, paused, ...others }));
  tag.classList.toggle("strong", blocked || paused);
  button.hidden = !canControl();
  say(button, blocked ? "Unblock" : "Block");
  button.setAttribute("aria-label", `${button.textContent} ${row.dataset.key}`);
  row.dataset.blocked = blocked;
}

const rowOf = (host) => [...find("#hosts").children].find((row) => row.dataset.key === host);

/** What was just set. A list of hosts may be some seconds old, so for a while this goes before it. */
const lately = new Map();

function decided({ domain, in_force }) {
  lately.set(domain, in_force);
  setTimeout(() => lately.delete(domain), LATELY_MS);
  const row = rowOf(domain);
  if (row) showPolicy(row, in_force);
}

async function toggleBlock(host) {
  const blocked = rowOf(host)?.dataset.blocked !== "true";
  try {
    decided(await policy.change(policy.ofHost(host), { blocked }));
    inform(blocked ? `${host} is blocked.` : `${host} is no longer blocked.`);
  } catch (trouble) {
    report(trouble);
  }
}

find("#hosts-head").addEventListener("click", (event) => {
  const head = event.target.closest("button")?.closest("th[data-sort]");
  if (!head) return;
  const { sort } = head.dataset;
  const first = sort === "host" ? "asc" : "desc"; // names from A, figures from the largest
  restart({ sort, order: view.sort !== sort ? first : view.order === "asc" ? "desc" : "asc" });
  markSorted();
});

function markSorted() {
  for (const head of find("#hosts-head").querySelectorAll("[data-sort]")) {
    if (head.dataset.sort !== view.sort) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", view.order === "asc" ? "ascending" : "descending");
  }
}
markSorted();

let typing = null;
find("#hosts-search").addEventListener("input", ({ target }) => {
  clearTimeout(typing);
  typing = setTimeout(() => restart({ filter: target.value.trim() }), TYPING_MS);
});

find("#hosts-back").addEventListener("click", () => {
  if (view.cursors.length > 1) view.cursors.pop();
  load().catch(report);
});
find("#hosts-more").addEventListener("click", () => {
  if (next !== null) view.cursors.push(next);
  load().catch(report);
});

// ---- one host -----------------------------------------------------------------------------------------------------

const dialog = find("#host-dialog");
const body = find("#host-body");

async function showHost(name) {
  find("#host-title").replaceChildren(foreign(name));
  body.replaceChildren(make("p.quiet", { role: "status" }, "Looking it up …"));
  open(dialog);
  try {
    const host = await ask(`/hosts/${encodeURIComponent(name)}`);
    const policyForm = canControl() ? await policy.form(policy.ofHost(name), (set) => saved(set, dialog)) : null;
    body.replaceChildren(
      known(host),
      ...(policyForm ? [make("h3", {}, "Policy"), policyForm] : []),
      ...upcoming(host.next_urls),
      ...host.robots.flatMap(robots),
    );
  } catch (trouble) {
    body.replaceChildren(make("p.wrong", { role: "alert" }, trouble.message));
  }
}

function saved(answer, where) {
  where.close();
  decided(answer);
  inform(`${answer.domain}: ${policy.inWords(answer.policy) || "no policy"}.`);
}

function known(host) {
  return facts(".two", [
    ["Site", host.site],
    ["Pages", words.count(host.pages)],
    ["Queued", words.count(host.queued)],
    ["Requests", words.count(host.requests)],
    ["Received", words.size(host.bytes)],
    ["Errors", `${words.count(host.errors)}${host.failures_in_a_row ? `, ${host.failures_in_a_row} in a row` : ""}`],
    ["Last error", host.last_error && words.word(host.last_error)],
    ["Delay", host.requests ? `${words.span(host.delay_s)}: ${host.delay_explained}` : null],
    ["May be asked", host.ready_in_s > 0 ? `in ${words.span(host.ready_in_s)}` : "now"],
    ["Links from other sites", words.count(host.in_links)],
    ["In force", policy.inWords(host.policy)],
  ]);
}

function upcoming(urls) {
  if (!urls.length) return [];
  const entries = urls.map((url) => make("li", {}, urlButton(url)));
  return [make("h3", {}, "Next"), make("ol.trail", {}, ...entries)];
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

// ---- the policy of any name ---------------------------------------------------------------------------------------

const policyDialog = find("#policy-dialog");
const policyBody = find("#policy-body");

find("#set-policy").addEventListener("click", () => {
  const plain = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
  const name = make("input", { name: "domain", required: true, placeholder: "example.com", ...plain });
  const rest = make("div");
  const choose = async (event) => {
    event.preventDefault();
    try {
      rest.replaceChildren(await policy.form(policy.ofDomain(name.value.trim()), (set) => saved(set, policyDialog)));
    } catch (trouble) {
      rest.replaceChildren(make("p.wrong", { role: "alert" }, trouble.message));
    }
  };
  policyBody.replaceChildren(
    make(
      "form.stack",
      { onsubmit: choose },
      make("label", {}, "A host, or the domain of a site", name),
      make("div.buttons", {}, make("button", {}, "Look it up")),
    ),
    rest,
  );
  open(policyDialog);
});

dialog.addEventListener("close", () => body.replaceChildren());
policyDialog.addEventListener("close", () => policyBody.replaceChildren());
