// Steering: pause and resume, drain, seeds, the quarantine. What was done is said in a line at the foot of the page.

import { ask, tell } from "./api.js";
import { find, foreign, make, match, open, say, visible } from "./dom.js";
import { show } from "./router.js";
import { urlButton } from "./why.js";
import * as words from "./text.js";

const TOAST_MS = 6_000;
const UNDO_MS = 30_000;

// ---- who is steering ----------------------------------------------------------------------------------------------

let me = { can_control: true, needs_key: false };
export const canControl = () => me.can_control;

/** A key that may only look sees no buttons that would be refused. */
export async function learnWho() {
  me = await ask("/me");
  document.body.classList.toggle("only-looking", !me.can_control);
  find("#logout").hidden = !me.needs_key;
}

find("#logout").addEventListener("click", async () => {
  await tell("/logout").catch(() => null);
  location.reload();
});

// ---- what was done ------------------------------------------------------------------------------------------------

let toastTimer = null;
let undoIt = null;

/** `undo`: a button beside it takes back what was done; it stays longer. */
export function inform(text, { isBad = false, undo = null } = {}) {
  const toast = find("#toast");
  toast.classList.toggle("bad", isBad);
  say(find("#toast-text"), text);
  undoIt = undo;
  find("#undo").hidden = undo === null;
  toast.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("shown"), undo ? UNDO_MS : TOAST_MS);
}

find("#undo").addEventListener("click", () => {
  find("#toast").classList.remove("shown");
  undoIt?.();
  undoIt = null;
});

export const report = (trouble) => inform(trouble.message, { isBad: true });

// ---- pause, resume, drain -----------------------------------------------------------------------------------------

const pauseButton = find("#pause");
const drainButton = find("#drain");
let lookAgain = () => {};

/** `soon` is called after something was done, so that the page shows it at once. */
export function whenDone(soon) {
  lookAgain = soon;
}

export function showSteering(status) {
  const isPaused = status.state === "paused";
  pauseButton.hidden = !status.running || status.state === "draining";
  drainButton.hidden = !status.running || status.state === "draining";
  pauseButton.classList.toggle("primary", isPaused);
  say(pauseButton, isPaused ? "Resume" : "Pause");
  pauseButton.dataset.to = isPaused ? "resume" : "pause";
}

async function steer(to, done) {
  pauseButton.disabled = drainButton.disabled = true;
  try {
    await tell(`/${to}`);
    inform(done);
  } catch (trouble) {
    report(trouble);
  } finally {
    pauseButton.disabled = drainButton.disabled = false;
    lookAgain();
  }
}

pauseButton.addEventListener("click", async () => {
  const isPause = pauseButton.dataset.to === "pause";
  await steer(isPause ? "pause" : "resume", isPause ? "Paused: nothing more is asked for." : "Going on.");
  pauseButton.focus(); // it lost the focus while it was disabled
});

const drainDialog = find("#drain-dialog");
drainButton.addEventListener("click", () => {
  drainDialog.returnValue = "";
  open(drainDialog);
});
drainDialog.addEventListener("close", () => {
  if (drainDialog.returnValue === "drain") steer("drain", "Draining: what is in flight is finished, then it ends.");
});

// ---- seeds --------------------------------------------------------------------------------------------------------

const numberIn = (id) => (find(id).value === "" ? null : Number(find(id).value));

find("#add-seeds").addEventListener("click", () => {
  find("#seeds-result").replaceChildren();
  open(find("#seeds-dialog"));
});

find("#seeds-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const urls = find("#seeds-urls").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const place = find("#seeds-result");
  try {
    const wanted = { urls, priority: numberIn("#seeds-priority"), max_depth: numberIn("#seeds-depth") };
    const answer = await tell("/seeds", wanted);
    place.replaceChildren(...seedsResult(answer));
    if (!answer.refused.length) find("#seeds-urls").value = "";
    lookAgain();
  } catch (trouble) {
    const about = trouble.value ? make("p.address", {}, foreign(trouble.value)) : "";
    place.replaceChildren(make("p.wrong", {}, trouble.message), about);
  }
});

function seedsResult({ added, duplicates_skipped, refused }) {
  const parts = [`${words.counted(added, "seed")} added`];
  if (duplicates_skipped) parts.push(`${words.count(duplicates_skipped)} known already`);
  if (refused.length) parts.push(`${words.count(refused.length)} refused`);
  const entry = ({ url, explained }) => make("li", {}, foreign(url), make("span.quiet", {}, explained));
  return [make("p", {}, `${parts.join(", ")}.`), refused.length ? make("ul.refused", {}, ...refused.map(entry)) : ""];
}

// ---- quarantine ---------------------------------------------------------------------------------------------------

let quarantined = null;

/** Asked for only when their number has changed. */
export async function keepQuarantine(status) {
  if (status.quarantined === quarantined) return;
  quarantined = status.quarantined;
  const card = find("#quarantine-card");
  if (quarantined) delete card.dataset.empty;
  else card.dataset.empty = "";
  show();
  if (quarantined) await loadQuarantine();
}

async function loadQuarantine() {
  const { pages } = await ask("/quarantine");
  const button = (name, onclick) => make("button", { type: "button", onclick }, name);
  const create = (page) =>
    make(
      "li",
      {},
      urlButton(page.url),
      make("span.quiet", {}, foreign(page.detail ?? page.explained ?? "")),
      make(
        "span.buttons",
        { "data-steers": true },
        button("Release", () => releaseOrDrop(page.url, "release", "will be tried again")),
        button("Drop", () => releaseOrDrop(page.url, "drop", "is dropped for good")),
      ),
    );
  match(find("#quarantine"), pages, ({ url }) => url, create, () => {});
}

async function releaseOrDrop(url, verb, done) {
  try {
    const answer = await tell(`/quarantine/${verb}`, { url });
    inform(`${visible(url)} ${done}${answer.done === "on_its_way" ? ", when its partition has an owner" : ""}.`);
    quarantined = null; // ask again
    lookAgain();
  } catch (trouble) {
    report(trouble);
  }
}
