// The control API, as the page uses it: one way to ask, one kind of trouble. Who is asking is told by a cookie that
// only the server can read (the server's own form for the key sets it), so no key is ever kept here.

const PATIENCE_MS = 15_000;

/** One server may show several crawls, each below a path of its own: the one that this page came from. */
export const BASE = `${location.pathname.replace(/[^/]*$/, "")}api/v1`;

/** What went wrong, in a sentence for people. `status` 0: there was no answer at all. */
export class Trouble extends Error {
  constructor(status, sentence, { waitS = null, entry = "", value = "" } = {}) {
    super(sentence);
    this.status = status;
    this.waitS = waitS;
    this.entry = entry; // the part of the request that it is about
    this.value = value;
  }
}

const SENTENCES = {
  403: "This key may look, but not steer.",
  404: "There is nothing of that name.",
  413: "That is more than the server takes at once.",
};

/** The answer to a request, its body unread; Trouble where it was not a good one. */
export async function fetchPath(path, { method = "GET", body } = {}) {
  let answer;
  try {
    answer = await fetch(`${BASE}${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
      cache: "no-store",
    });
  } catch {
    throw new Trouble(0, "The server does not answer.");
  }
  if (answer.ok) return answer;
  throw await troubleOf(answer);
}

export async function ask(path, options) {
  const answer = await fetchPath(path, options);
  try {
    return await answer.json();
  } catch {
    throw new Trouble(0, "The answer broke off.");
  }
}

export const tell = (path, body, method = "POST") => ask(path, { method, body });

async function troubleOf(answer) {
  const waitS = Number(answer.headers.get("Retry-After")) || null;
  const problem = await answer.json().catch(() => ({})); // not ours: a proxy's page, perhaps
  const said = problem.detail || SENTENCES[answer.status] || problem.title;
  const about = { waitS, entry: problem.entry, value: problem.value };
  return new Trouble(answer.status, said || `The server answered ${answer.status}.`, about);
}

/** A path with the parameters that have a value. */
export function query(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}
