// A policy: what an operator says about a host or a whole site. One form for both.

import { ask, tell } from "./api.js";
import { make, say } from "./dom.js";
import { inform } from "./steering.js";

// A domain means a whole site where it is registrable, and a longer name that host; a host is that host alone.
export const ofDomain = (name) => `/domains/${encodeURIComponent(name)}/policy`;
export const ofHost = (name) => `/hosts/${encodeURIComponent(name)}/policy`;

const listeners = [];

/** `listener(answer)` hears of every policy that was set in a form. */
export const whenTold = (listener) => listeners.push(listener);

export function told(answer) {
  for (const listener of listeners) listener(answer);
  inform(`${answer.domain}: ${inWords(answer.policy) || "no policy"}.`);
}

/** What a policy says, in a few words; empty where it says nothing. */
export function inWords(policy) {
  return [
    policy.blocked && "blocked",
    policy.paused && "paused",
    policy.crawl_rate !== null && `at most ${policy.crawl_rate}/s`,
    policy.max_pages !== null && `at most ${policy.max_pages} pages`,
    policy.priority !== null && `priority ${policy.priority}`,
    policy.trusted && "trusted",
  ]
    .filter(Boolean)
    .join(", ");
}

const FIELDS = [
  ["crawl_rate", "Requests a second, at most", { min: "0.00001", max: "10000", step: "any", placeholder: "usual" }],
  ["max_pages", "Pages, at most", { min: "1", step: "1", placeholder: "no limit" }],
  ["priority", "Priority, 0 to 1", { min: "0", max: "1", step: "any", placeholder: "by its links" }],
];
const SWITCHES = [
  ["paused", "Pause", "ask nothing, keep what is queued"],
  ["blocked", "Block", "ask nothing, refuse what is queued"],
  ["trusted", "Trust", "what looks like a trap here is none"],
];

const REACH = {
  site: "Holds for the whole site, every host of it.",
  host: "Holds for this host, and goes before what holds for its site.",
};

/** The form for a policy, filled in with what is set; `saved` is called with the answer. */
export async function form(path, saved) {
  const { policy, kind, in_force } = await ask(path);
  const numbers = FIELDS.map(([name, , attributes]) =>
    make("input", { type: "number", inputmode: "decimal", value: policy[name], name, ...attributes }),
  );
  const switches = SWITCHES.map(([name]) => make("input", { type: "checkbox", name, checked: policy[name] }));
  const result = make("p.wrong", { role: "alert" });
  const inherited = inWords(in_force) !== inWords(policy) ? inWords(in_force) : "";

  async function submit(event) {
    event.preventDefault();
    const wanted = {
      ...Object.fromEntries(numbers.map((field) => [field.name, field.value === "" ? null : Number(field.value)])),
      ...Object.fromEntries(switches.map((field) => [field.name, field.checked])),
    };
    try {
      saved(await tell(path, wanted, "PUT"));
    } catch (trouble) {
      say(result, trouble.message);
    }
  }

  return make(
    "form.stack.policy",
    { onsubmit: submit },
    make("p.quiet", {}, REACH[kind]),
    make("div.pair", {}, ...numbers.map((field, i) => make("label", {}, FIELDS[i][1], field))),
    ...switches.map((field, i) => make("label.switch", {}, field, `${SWITCHES[i][1]} `, make("small", {}, SWITCHES[i][2]))),
    inherited ? make("p.quiet", {}, `In force with its site's: ${inherited}.`) : null,
    result,
    make("div.buttons", {}, make("button.primary", {}, "Set")),
  );
}
