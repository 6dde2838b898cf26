// Where the page is: `#/hosts/example.com?sort=pages`. The view, its filters and the URL that is looked up are part of
// the address, so that it can be sent to somebody, and the browser's Back goes back. Each part of the page says in
// `data-views` in which views it is shown.

import { find } from "./dom.js";

const VIEWS = ["overview", "trends", "pages", "hosts", "nodes", "policies", "seeds", "settings", "exports", "log"];
const listeners = [];
let present = read();

/** {view, name, parameters}; `name` is that of the host on the page of one host. */
export const here = () => present;

/** A parameter of the present address; empty where it has none. */
export const parameter = (name) => present.parameters.get(name) ?? "";

function read() {
  const [path, behind = ""] = location.hash.replace(/^#?\/?/, "").split("?", 2);
  const [first, name = ""] = path.split("/").map(decoded);
  const view = first === "hosts" && name ? "host" : VIEWS.includes(first) ? first : "overview";
  return { view, name, path, parameters: new URLSearchParams(behind) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a view; parameters without a value are left out. */
export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== "");
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export const hostAddress = (host) => address(`hosts/${encodeURIComponent(host)}`);

/** Change some parameters of the present address. `isSmall`: not worth a step of Back, as each letter of a filter. */
export function change(parameters, { isSmall = false } = {}) {
  const all = { ...Object.fromEntries(present.parameters), ...parameters };
  const to = address(present.path, all);
  if (isSmall) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  moved();
}

/** `listener(isOtherView)` is called whenever the address has changed. */
export const whenMoved = (listener) => listeners.push(listener);

function moved() {
  const before = present;
  present = read();
  const isOther = before.view !== present.view || before.name !== present.name;
  show();
  for (const listener of listeners) listener(isOther);
  if (isOther) {
    scrollTo(0, 0);
    find("#main").focus({ preventScroll: true });
  }
}

export function show() {
  const { view } = present;
  document.body.dataset.view = view;
  for (const part of document.querySelectorAll("[data-views]")) {
    part.hidden = !part.dataset.views.split(" ").includes(view) || "empty" in part.dataset;
  }
  for (const link of find("#views").children) {
    const isHere = link.dataset.view === view || (view === "host" && link.dataset.view === "hosts");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("popstate", moved);

// The link for those who come by keyboard is an address, too: it must not lead to another view.
find("#skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("#main").focus();
});
