// The crawl as it stands: the state, the totals, the charts and the small lists. Everything here follows from one
// answer of /status a second, and from /history for what was before this page was opened.

import { ask } from "./api.js";
import { Chart, bars, reasonRows, withGaps } from "./charts.js";
import { choice, find, make, match, say } from "./dom.js";
import { address } from "./router.js";
import * as words from "./text.js";

const RECENT_S = 600;
const GAP_S = 15; // longer without a figure of this page's own, and the line breaks off: nobody looked
const SMOOTH_S = 10;
const REASONS_MAX = 8;
const SLOW_EVERY_MS = 30_000; // the whole crawl changes slowly

const STATES = {
  starting: "Starting",
  running: "Running",
  paused: "Paused",
  draining: "Draining",
  stopped: "Stopped",
  complete: "Complete",
};

const secondOf = (at) => Date.parse(at) / 1000;
const put = (id, text) => say(find(`#${id}`), text);

// ---- state and totals ---------------------------------------------------------------------------------------------

export function showStatus(status) {
  document.body.dataset.state = status.state;
  put("state", STATES[status.state] ?? status.state);
  put("headline", headline(status));
  const name = status.dir.split("/").filter(Boolean).at(-1) ?? status.dir;
  put("crawl-name", name);
  find("#crawl-name").title = status.dir;
  document.title = `${STATES[status.state]} · ${words.count(status.pages)} pages · ${name}`;
  put("version", `Gossamer ${status.version}`);

  put("pages", words.count(status.pages));
  put("pages-note", pagesNote(status));
  put("rate", status.running ? words.rate(status.pages_per_s) : "–");
  put("rate-note", status.running ? `${words.counted(status.active_hosts, "host")} active` : "not running");
  put("bytes", words.size(status.bytes));
  const requests = words.counted(status.requests, "request");
  put("bytes-note", status.running ? `${words.size(status.bytes_per_s)}/s` : requests);
  put("queued", words.count(status.queued));
  put("queued-note", `${words.count(status.in_flight)} in flight`);
  put("waiting", words.count(status.waiting));
  put("failed", words.count(status.failed));
  put("failed-note", status.error_rate === null ? "could not be fetched" : `${words.share(status.error_rate, 1)} errors lately`);
  put("refused", words.count(status.refused));
  put("quarantined", words.count(status.quarantined));

  showEmpty(status);
  showReasons(status);
  showQueue(status);
  showMachine(status);
  remember(status);
}

function headline(status) {
  const since = status.elapsed_s === null ? "" : `${words.span(status.elapsed_s)} in this run`;
  const left = status.eta_s === null || status.state !== "running" ? "" : `${words.span(status.eta_s)} left at this rate`;
  const met = `${words.counted(status.hosts, "host")} met`;
  const said = {
    paused: status.paused_why,
    draining: `${words.count(status.in_flight)} in flight are being finished, then it ends`,
    stopped: status.cluster ? "gossamer crawl --cluster and nodes go on with it" : "the same gossamer crawl command resumes it",
    complete: "every URL that was found is done",
  }[status.state];
  return [said, since, left, met].filter(Boolean).join(" · ");
}

function pagesNote(status) {
  if (status.max_pages !== null) return `of at most ${words.count(status.max_pages)}`;
  return status.pages_today === null ? "in all" : `${words.count(status.pages_today)} today`;
}

/** A crawl with no pages yet says what it is waiting for, instead of showing a row of noughts alone. */
function showEmpty(status) {
  const line = find("#empty");
  line.hidden = status.pages > 0;
  if (line.hidden) return;
  const left = status.queued + status.in_flight + status.waiting;
  if (!status.urls_known) say(line, "No pages yet, and nothing to ask for: add seeds to start with.");
  else if (!left) say(line, "No pages: everything that was asked for failed or was refused. The reasons are below.");
  else if (status.running) say(line, "No pages yet. Each host is asked for its robots.txt first; then pages follow.");
  else say(line, `No pages yet, and ${words.counted(left, "URL")} to ask for once the crawl runs.`);
}

// ---- lists --------------------------------------------------------------------------------------------------------

const chosen = { decisions: "decisions", throughput: "pages" };
let last = null;

function showReasons(status) {
  last = status;
  showCounts("errors", status.troubles, (reason) => address("pages", { reason }));
  const counts = status[chosen.decisions];
  showCounts("decisions", counts, chosen.decisions === "decisions" ? (reason) => address("pages", { reason }) : null);
}

function showCounts(id, counts, pagesAddress) {
  const others = counts.slice(REASONS_MAX).reduce((sum, { count }) => sum + count, 0);
  const rows = reasonRows(counts.slice(0, REASONS_MAX), words.word, words.count, pagesAddress);
  if (others) rows.push({ key: "", name: "all others", value: others, text: words.count(others) });
  bars(find(`#${id}`), rows);
  find(`#${id}-none`).hidden = rows.length > 0;
}

function showQueue(status) {
  const rows = status.queue.map(({ level, hosts }) => ({
    key: level,
    name: `Level ${level + 1}`,
    value: hosts,
    text: words.count(hosts),
  }));
  const isEmpty = rows.every(({ value }) => value === 0);
  bars(find("#queue"), isEmpty ? [] : rows);
  find("#queue-none").hidden = !isEmpty;

  const times = status.answer_times;
  const most = Math.max(...times.map(({ count }) => count), 1);
  const hasAny = times.some(({ count }) => count > 0);
  find("#answer-times-none").hidden = hasAny;
  match(
    find("#answer-times"),
    hasAny ? times : [],
    ({ up_to_s }) => up_to_s,
    () => make("li", {}, make("span.column", { "aria-hidden": "true" }), make("span.column-name")),
    (item, { up_to_s, count }) => {
      item.firstChild.style.height = `${count ? Math.max(2, (100 * count) / most) : 0}%`;
      const limit = up_to_s === null ? "" : up_to_s < 1 ? `${up_to_s * 1000} ms` : `${up_to_s} s`;
      say(item.lastChild, limit);
      item.title = `${words.counted(count, "answer")} ${up_to_s === null ? "took longer" : `within ${limit}`}`;
      item.setAttribute("aria-label", item.title);
    },
  );
}

const hitRate = (cache) => (cache && cache.hit_rate !== null ? `${words.share(cache.hit_rate, 1)} hits` : "–");

function showMachine(status) {
  const { duplicates, disk, dns, seen } = status;
  const ofPages = duplicates.share === null ? "" : `, ${words.share(duplicates.share, 1)} of pages`;
  put("duplicates", words.count(duplicates.pages) + ofPages);
  put("bytes-saved", words.size(duplicates.bytes_saved));
  put("archive-bytes", words.size(disk.archive_bytes));
  put("state-bytes", words.size(disk.state_bytes));
  put("disk-free", words.size(disk.free_bytes));
  put("memory", words.size(status.memory_bytes));
  put("known", `${words.count(seen.urls)}, ${words.share(seen.false_positive_rate, 1)} looked up in vain`);
  put("dns", dns && dns.names ? `${hitRate(dns)}, ${words.counted(dns.names, "name")}` : hitRate(dns));
  put("robots", hitRate(status.robots));

  find("#workers-none").hidden = status.workers.length > 0;
  match(
    find("#workers"),
    status.workers,
    ({ node, number }) => `${node ?? ""} ${number}`,
    () => make("li", {}, make("span.worker-name"), make("span.worker-state"), make("span.quiet")),
    (item, worker) => {
      const [name, state, note] = item.children;
      say(name, worker.node ? `${worker.node} ${worker.number}` : `Worker ${worker.number}`);
      say(state, worker.state);
      say(note, `${words.count(worker.in_flight)} in flight, ${words.size(worker.memory_bytes)}`);
      const parts = words.counted(worker.partitions.length, "partition");
      item.title = `process ${worker.pid}, ${parts}, ${words.span(worker.cpu_s)} of CPU`;
    },
  );
  showFetchers(status.fetchers);
  showProxies(status.proxies);
}

function showProxies(proxies) {
  find("#h-proxies").hidden = proxies.length === 0;
  match(
    find("#proxies"),
    proxies,
    ({ proxy }) => proxy,
    () => make("li", {}, make("span.worker-name"), make("span.worker-state"), make("span.quiet")),
    (item, { proxy, trouble }) => {
      const [name, state, note] = item.children;
      say(name, proxy);
      say(state, trouble ? "waits" : "in use");
      say(note, trouble || "");
    },
  );
}

const fetcherState = (fetcher) => (fetcher.is_leaving ? "leaving" : fetcher.silent_s >= 3 ? "silent" : "fetching");

function showFetchers(fetchers) {
  find("#h-fetchers").hidden = fetchers.length === 0;
  match(
    find("#fetchers"),
    fetchers,
    ({ name, address }) => `${name} ${address}`,
    () => make("li", {}, make("span.worker-name"), make("span.worker-state"), make("span.quiet")),
    (item, fetcher) => {
      const [name, state, note] = item.children;
      say(name, fetcher.region ? `${fetcher.name} (${fetcher.region})` : fetcher.name);
      say(state, fetcherState(fetcher));
      say(note, `${words.count(fetcher.jobs)} jobs, ${words.count(fetcher.done)} done, ${words.size(fetcher.bytes)}`);
      item.title = `at ${fetcher.address}, room for ${words.count(fetcher.room)} jobs`;
    },
  );
}

// ---- charts -------------------------------------------------------------------------------------------------------

const FORMATS = {
  pages: { field: "pages_per_s", name: "pages/s", className: "main", format: words.rate },
  bytes: { field: "bytes_per_s", name: "per second", className: "main", format: words.size },
  errors: { field: "errors_per_s", name: "errors/s", className: "bad", format: words.rate },
};

let recent = []; // of the last ten minutes, oldest first
let whole = []; // of the crawl from its first start on, in larger steps

const throughput = new Chart(find("#throughput"), {
  format: (value) => FORMATS[chosen.throughput].format(value),
  summary: ([{ name, points }]) => {
    const values = points.map(([, value]) => value).filter((value) => value !== null);
    const { format } = FORMATS[chosen.throughput];
    return values.length
      ? `Now ${format(values.at(-1))} ${name}, at most ${format(Math.max(...values))} in the last ten minutes`
      : "No figures yet";
  },
});

const history = new Chart(find("#history"), {
  format: words.compact,
  summary: ([pages, queued]) =>
    `${words.count(pages.points.at(-1)?.[1])} pages and ${words.count(queued.points.at(-1)?.[1])} queued`,
});

function remember(status) {
  const second = secondOf(status.at);
  if (recent.length && second <= recent.at(-1).second) return;
  recent.push({ ...pointOf(status), is_start: recent.length > 0 && second - recent.at(-1).second > GAP_S });
  recent = recent.filter((point) => point.second > second - RECENT_S - GAP_S);
  showThroughput();
  showWhole();
}

const RATES = ["pages_per_s", "bytes_per_s", "errors_per_s"];

/** What the charts need of a status or of a point of history: the rest would only take memory. */
function pointOf(figures) {
  const point = { second: secondOf(figures.at), is_start: figures.is_start ?? false };
  for (const field of [...RATES, "pages", "queued"]) point[field] = figures[field];
  return point;
}

function showThroughput() {
  if (!recent.length) return;
  const now = recent.at(-1).second;
  const { field, name, className } = FORMATS[chosen.throughput];
  const points = withGaps(recent, (point) => point[field]).filter(([at]) => at >= now - RECENT_S);
  throughput.show([{ name, className, filled: true, points }], now - RECENT_S, now);
}

/** The steps of the whole crawl are large; what came after the last of them is known more closely. */
function showWhole() {
  const since = whole.at(-1)?.second ?? -Infinity;
  const points = [...whole, ...recent.filter(({ second }) => second > since)];
  history.show(
    [
      { name: "pages", className: "main", filled: true, points: withGaps(points, ({ pages }) => pages) },
      { name: "queued", className: "second", filled: false, points: withGaps(points, ({ queued }) => queued) },
    ],
    points[0].second,
    points.at(-1).second,
  );
}

/** What was before this page was opened. The crawl as a whole is asked for again only now and then. */
async function loadHistory() {
  const [lately, all] = await Promise.all([ask("/history?span_s=600"), ask("/history")]);
  const known = recent.length ? recent[0].second : Infinity;
  recent = [...smooth(lately.points.map(pointOf)).filter(({ second }) => second < known), ...recent];
  whole = all.points.map(pointOf);
}

/** Each point as the average of the ten seconds up to it, which is what /status says of the present. */
function smooth(points) {
  return points.map((point, i) => {
    const near = points.slice(Math.max(0, i - 20), i + 1).filter(({ second }) => second > point.second - SMOOTH_S);
    const averages = RATES.map((field) => [field, near.reduce((sum, each) => sum + each[field], 0) / near.length]);
    return { ...point, ...Object.fromEntries(averages) };
  });
}

let isLoading = false;
let loadedAt = -Infinity;

export async function keepHistory() {
  if (isLoading || performance.now() - loadedAt < SLOW_EVERY_MS) return;
  isLoading = true;
  try {
    await loadHistory();
    loadedAt = performance.now();
  } finally {
    isLoading = false;
  }
}

// ---- choices ------------------------------------------------------------------------------------------------------

choice(find("#decisions-choice"), (value) => {
  chosen.decisions = value;
  find("#decisions").replaceChildren(); // some lead to pages, and some do not
  if (last) showReasons(last);
});
choice(find("#throughput-choice"), (value) => {
  chosen.throughput = value;
  showThroughput();
});
