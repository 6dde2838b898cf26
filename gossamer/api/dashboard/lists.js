// What stands in the crawl's folder: policies, seeds, settings, exports, the end of the log. Each is asked for when its
// view is opened, and now and then while it stays open.

import { ask, query, tell } from "./api.js";
import { choice, find, foreign, make, match, open, say } from "./dom.js";
import { pager } from "./pages.js";
import * as policy from "./policy.js";
import { change, here, hostAddress, parameter } from "./router.js";
import { canControl, inform, report } from "./steering.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const EVERY_MS = 10_000;
let askedAt = -Infinity;

export async function keepLists({ isNew }) {
  if (!isNew && performance.now() - askedAt < EVERY_MS) return;
  askedAt = performance.now();
  const { view } = here();
  const asked = location.hash;
  const answer = await ask(query(`/${view}`, view === "policies" || view === "seeds" ? { cursor: parameter("cursor") } : {}));
  if (location.hash === asked) SHOW[view](answer);
}

const SHOW = {
  policies({ policies, next_cursor }) {
    match(find("#policies-rows"), policies, ({ kind, domain }) => `${kind} ${domain}`, policyRow, updatePolicy);
    find("#policies-none").hidden = policies.length > 0;
    pager(find("#policies-pager"), next_cursor);
  },
  seeds({ seeds, next_cursor }) {
    match(find("#seeds-rows"), seeds, ({ url }) => url, seedRow, () => {});
    find("#seeds-none").hidden = seeds.length > 0;
    pager(find("#seeds-pager"), next_cursor);
  },
  settings({ settings }) {
    known = settings;
    showSettings();
  },
  exports({ exports }) {
    match(find("#exports-rows"), exports, ({ target }) => target, exportRow, () => {});
    find("#exports-none").hidden = exports.length > 0;
  },
  log({ file, lines }) {
    const place = find("#log");
    const isAtEnd = place.scrollTop + place.clientHeight > place.scrollHeight - 8;
    say(place, lines.join("\n"));
    if (isAtEnd) place.scrollTop = place.scrollHeight;
    place.hidden = file === null;
    find("#log-none").hidden = file !== null;
    say(find("#log-file"), file ?? "");
  },
};

// ---- policies -----------------------------------------------------------------------------------------------------

const pathOf = ({ kind, domain }) => (kind === "site" ? policy.ofDomain(domain) : policy.ofHost(domain));

function policyRow(entry) {
  const name = entry.kind === "host" ? make("a.url", { href: hostAddress(entry.domain) }, foreign(entry.domain)) : foreign(entry.domain);
  const button = (text, onclick) => make("button.quiet-button", { type: "button", onclick, "aria-label": `${text} ${entry.domain}` }, text);
  const buttons = [button("Change", () => openPolicy(pathOf(entry), entry.domain)), button("Clear", () => clear(entry))];
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, name),
    make("td", {}, entry.kind === "site" ? "its whole site" : "this host"),
    make("td"),
    make("td.row-actions", { "data-steers": true }, ...(canControl() ? buttons : [])),
  );
}

const updatePolicy = (row, entry) => say(row.children[2], policy.inWords(entry.policy));

async function clear(entry) {
  try {
    const { policy: before } = await ask(pathOf(entry));
    await tell(pathOf(entry), {}, "PUT");
    const undo = async () => tell(pathOf(entry), before, "PUT").then(again, report);
    inform(`${entry.domain} has no policy any more.`, { undo });
    again();
  } catch (trouble) {
    report(trouble);
  }
}

function again() {
  if (here().view === "policies") keepLists({ isNew: true }).catch(report);
}
policy.whenTold(again);

const dialog = find("#policy-dialog");
const body = find("#policy-body");

async function openPolicy(path, name) {
  find("#policy-title").replaceChildren("Policy of ", foreign(name));
  try {
    body.replaceChildren(await policy.form(path, saved));
    open(dialog);
  } catch (trouble) {
    report(trouble);
  }
}

function saved(answer) {
  dialog.close();
  policy.told(answer);
}

/** For any name: a host, or the domain of a site. */
function askForName() {
  const plain = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
  const name = make("input", { name: "domain", required: true, placeholder: "example.com", ...plain });
  const rest = make("div");
  const choose = async (event) => {
    event.preventDefault();
    try {
      rest.replaceChildren(await policy.form(policy.ofDomain(name.value.trim()), saved));
    } catch (trouble) {
      rest.replaceChildren(make("p.wrong", { role: "alert" }, trouble.message));
    }
  };
  find("#policy-title").replaceChildren("Set a policy");
  body.replaceChildren(
    make(
      "form.stack",
      { onsubmit: choose },
      make("label", {}, "A host, or the domain of a site", name),
      make("div.buttons", {}, make("button", {}, "Look it up")),
    ),
    rest,
  );
  open(dialog);
}

for (const button of document.querySelectorAll("[data-do=policy]")) button.addEventListener("click", askForName);
dialog.addEventListener("close", () => body.replaceChildren());

// ---- seeds, exports -----------------------------------------------------------------------------------------------

const number = (value) => make("td.number", {}, value === null ? "" : String(value));

const seedRow = ({ url, priority, max_depth }) =>
  make("tr", {}, make("th", { scope: "row" }, urlButton(url)), number(priority), number(max_depth));

const exportRow = ({ target, format, options, positions }) =>
  make(
    "tr",
    {},
    make("th", { scope: "row" }, foreign(target)),
    make("td", {}, format),
    make("td", {}, foreign(options.join(" "))),
    make("td.number", { title: positions.map(({ file, offset }) => `${file} ${offset}`).join(", ") }, words.count(positions.length)),
  );

// ---- settings -----------------------------------------------------------------------------------------------------

let known = [];

function showSettings() {
  const [part, only] = [parameter("filter").toLowerCase(), parameter("show")];
  const isShown = ({ key, meaning, is_default }) =>
    (!part || `${key} ${meaning}`.toLowerCase().includes(part)) && (only !== "changed" || !is_default);
  const rows = known.filter(isShown);
  const row = ({ key, meaning }) =>
    make("tr", {}, make("th", { scope: "row" }, make("code", {}, key)), make("td.setting"), make("td.roomy", {}, meaning));
  match(find("#settings-rows"), rows, ({ key }) => key, row, (element, { value, is_default }) => {
    element.children[1].replaceChildren(foreign(value));
    element.classList.toggle("changed", !is_default);
  });
  find("#settings-none").hidden = rows.length > 0;
  for (const button of find("#settings-choice").children) {
    button.setAttribute("aria-pressed", String(button.dataset.value === only));
  }
  const search = find("#settings-search");
  if (search !== document.activeElement) search.value = parameter("filter");
}

find("#settings-search").addEventListener("input", ({ target }) => change({ filter: target.value.trim() }, { isSmall: true }));
choice(find("#settings-choice"), (value) => change({ show: value }));
