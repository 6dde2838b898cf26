// Several crawls on one page: how each stands, start and stop. A name leads to the dashboard of that crawl.

import { ask, tell } from "./api.js";
import { find, foreign, make, match, say } from "./dom.js";
import * as words from "./text.js";

const EVERY_MS = 2_000;
const TOAST_MS = 6_000;

let canControl = false;
let toastTimer = null;

async function look() {
  if (!document.hidden) {
    try {
      ({ can_control: canControl } = await ask("/me"));
      show(await ask("/crawls"));
      document.body.dataset.link = "good";
      find("#banner").hidden = true;
    } catch (trouble) {
      if (trouble.status === 401) return void location.reload();
      document.body.dataset.link = "lost";
      find("#banner").hidden = false;
      say(find("#banner"), trouble.message);
    }
  }
  setTimeout(look, EVERY_MS);
}

function show({ dir, crawls }) {
  say(find("#folder"), dir);
  const running = crawls.filter(isRunning).length;
  say(find("#running"), `${words.counted(crawls.length, "crawl")}, ${words.count(running)} running`);
  document.title = `${words.count(running)} running · ${dir}`;
  match(find("#crawls"), crawls, ({ name }) => name, create, update);
}

const isRunning = ({ state }) => !["stopped", "complete"].includes(state);

function create({ name }) {
  const link = make("a.url", { href: `/crawls/${encodeURIComponent(name)}/` }, foreign(name));
  const button = make("button", { type: "button", onclick: () => toggle(name, button) });
  const cells = ["", ".number", ".number.roomy", ".number", ".number.roomy", ".number.roomy", ".roomy"];
  return make("tr", {}, make("th", { scope: "row" }, link), ...cells.map((kind) => make(`td${kind}`)), make("td.row-actions", {}, button));
}

function update(row, crawl) {
  const [, state, pages, rate, queued, failed, hosts, seen, actions] = row.children;
  state.replaceChildren(make(`span.pill.is-${crawl.state}`, { title: crawl.fault }, crawl.fault ? "unreadable" : crawl.state));
  say(pages, words.count(crawl.pages));
  say(rate, isRunning(crawl) ? words.rate(crawl.pages_per_s) : "–");
  say(queued, words.count(crawl.queued));
  say(failed, words.count(crawl.failed));
  say(hosts, words.count(crawl.hosts));
  say(seen, crawl.seen_at ? words.moment(crawl.seen_at) : "–");
  const button = actions.firstElementChild;
  const verb = isRunning(crawl) ? "Stop" : "Start";
  button.hidden = !canControl;
  button.dataset.verb = verb.toLowerCase();
  say(button, verb);
  button.setAttribute("aria-label", `${verb} ${crawl.name}`);
}

async function toggle(name, button) {
  button.disabled = true;
  const { verb } = button.dataset;
  try {
    const crawl = await tell(`/crawls/${encodeURIComponent(name)}/${verb}`);
    const row = [...find("#crawls").children].find((each) => each.dataset.key === name);
    if (row) update(row, crawl);
    inform(verb === "start" ? `${name} is ${crawl.state}.` : `${name} finishes what is in flight, and ends.`);
  } catch (trouble) {
    inform(trouble.message, true);
  } finally {
    button.disabled = false;
  }
}

function inform(text, isBad = false) {
  const toast = find("#toast");
  toast.classList.toggle("bad", isBad);
  toast.classList.add("shown");
  say(find("#toast-text"), text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("shown"), TOAST_MS);
}

look();
