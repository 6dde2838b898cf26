// Block a host or its site. It asks first, says how many URLs it concerns, and can be undone.

import { ask, tell } from "./api.js";
import { find, foreign, make, open } from "./dom.js";
import * as policy from "./policy.js";
import { inform, report } from "./steering.js";
import * as words from "./text.js";

const dialog = find("#block-dialog");
let asked = null; // what the dialog is about
let tellAll = () => {};

/** `told(answer)` hears of every policy that was set here. */
export function whenBlocked(told) {
  tellAll = told;
}

export async function askToBlock(name) {
  try {
    const host = await ask(`/hosts/${encodeURIComponent(name)}`);
    const choices = [{ path: policy.ofHost(name), name, note: `this host: ${urls(host.queued)}` }];
    // An address has no site, and a name that is a site's own may be meant alone or with all below it.
    const site = await ask(policy.ofDomain(host.site)).catch(() => null);
    if (site?.kind === "site") {
      const { hosts, queued } = await ask(`/domains/${encodeURIComponent(host.site)}`);
      const note = `the whole site, ${words.counted(hosts, "host")}: ${urls(queued)}`;
      choices.push({ path: policy.ofDomain(host.site), name: host.site, note });
    }
    asked = choices;
    show(name);
  } catch (trouble) {
    report(trouble);
  }
}

const urls = (queued) => (queued ? `${words.counted(queued, "URL")} queued` : "nothing queued");

function show(name) {
  find("#block-title").replaceChildren("Block ", foreign(name), "?");
  const radio = ({ name: choice, note }, i) =>
    make(
      "label.switch",
      {},
      make("input", { type: "radio", name: "reach", value: i, checked: i === 0 }),
      foreign(choice),
      " ",
      make("small", {}, note),
    );
  find("#block-reach").replaceChildren(make("legend.unseen", {}, "What is blocked"), ...asked.map(radio));
  dialog.returnValue = "";
  open(dialog);
}

dialog.addEventListener("close", () => {
  if (dialog.returnValue !== "block") return;
  const chosen = dialog.querySelector("input[name=reach]:checked");
  if (chosen) block(asked[Number(chosen.value)]);
});

async function block({ path, name, note }) {
  try {
    const { policy: before } = await ask(path);
    tellAll(await tell(path, { ...before, blocked: true }, "PUT"));
    inform(`${name} is blocked; ${note}.`, { undo: () => put(path, name, before) });
  } catch (trouble) {
    report(trouble);
  }
}

export async function unblock(path, name) {
  try {
    const { policy: before } = await ask(path);
    await put(path, name, { ...before, blocked: false });
  } catch (trouble) {
    report(trouble);
  }
}

/** As it was before. */
async function put(path, name, before) {
  try {
    tellAll(await tell(path, before, "PUT"));
    inform(`${name} is no longer blocked: what was refused for it comes back by itself.`);
  } catch (trouble) {
    report(trouble);
  }
}
