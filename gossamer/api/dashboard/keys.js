// Keys, and the list of them that `?` shows. Nothing happens while somebody types or a dialog is open.

import { find, make, open } from "./dom.js";
import { address } from "./router.js";

const goTo = (path) => () => {
  location.hash = address(path);
};

/** On one machine there is no such view. */
function goToNodes() {
  if (!find("#views [data-view=nodes]").hidden) goTo("nodes")();
}

const KEYS = [
  ["/", "Look up a URL", () => find("#ask-url").focus()],
  ["o", "Overview", goTo("")],
  ["t", "Over time", goTo("trends")],
  ["p", "Pages", goTo("pages")],
  ["h", "Hosts", goTo("hosts")],
  ["n", "Nodes of a cluster", goToNodes],
  ["r", "Policies", goTo("policies")],
  ["s", "Seeds", goTo("seeds")],
  ["c", "Settings", goTo("settings")],
  ["e", "Exports", goTo("exports")],
  ["l", "Log", goTo("log")],
  ["?", "This list", showKeys],
];

function showKeys() {
  const row = ([key, meaning]) => make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, meaning));
  find("#keys-list").replaceChildren(...KEYS.map(row), row(["Esc", "Close what is open"]));
  open(find("#keys-dialog"));
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const found = KEYS.find(([key]) => key === event.key);
  if (!found) return;
  event.preventDefault();
  found[2]();
});

find("#show-keys").addEventListener("click", showKeys);
