// Over time: one chart for each thing that an operator asks about, of the last minutes or of the whole crawl, also where
// it does not run any more. A gap in a line is a time when nothing ran.

import { ask, query } from "./api.js";
import { Chart, withGaps } from "./charts.js";
import { find, make, say } from "./dom.js";
import { change, here, parameter } from "./router.js";
import * as words from "./text.js";

const EVERY_MS = 5_000;
const SLOW_MS = 30_000;

const status = (name) => (point) => point.answers_per_s[name] ?? null;

// A name for each line, where its value is, and its colour.
const CHARTS = [
  ["Pages a second", words.rate, [["pages/s", (point) => point.pages_per_s, "main"]]],
  [
    "Answers a second, by status",
    words.rate,
    [
      ["2xx", status("2xx"), "main"],
      ["3xx", status("3xx"), "third"],
      ["4xx", status("4xx"), "warn"],
      ["5xx", status("5xx"), "bad"],
      ["no answer", status("none"), "second"],
    ],
  ],
  [
    "Time to answer",
    words.shortSpan,
    [
      ["half of them (p50)", (point) => point.answer_p50_s, "main"],
      ["19 of 20 (p95)", (point) => point.answer_p95_s, "second"],
    ],
  ],
  ["Errors a second", words.rate, [["errors/s", (point) => point.errors_per_s, "bad"]]],
  [
    "Queue",
    words.compact,
    [
      ["queued", (point) => point.queued, "main"],
      ["waiting", (point) => point.waiting, "second"],
    ],
  ],
  ["Pages in all", words.compact, [["pages", (point) => point.pages, "main"]]],
  ["Duplicates among new pages", (value) => words.share(value, 1), [["are duplicates", (point) => point.duplicates_share, "main"]]],
  ["Received a second", words.size, [["per second", (point) => point.bytes_per_s, "main"]]],
  ["Disk free", words.size, [["free", (point) => point.disk_free_bytes, "main"]]],
  ["Memory", words.size, [["in use", (point) => point.memory_bytes || null, "main"]]],
  ["Freshness, as estimated", (value) => words.share(value, 1), [["are as on the web", (point) => point.freshness, "main"]]],
  ["Time left", words.shortSpan, [["left", (point) => point.eta_s, "main"]]],
];

const NOTES = {
  "Time left": "to --max-pages, or until the queue is empty if nothing new is found",
  "Errors a second": "what went wrong; what robots.txt and traps forbid is none",
};

let charts = null; // made when they are first looked at

function build() {
  return CHARTS.map(([title, format, lines], i) => {
    const place = make("div.chart");
    const key = ([name, , className]) => make(`span.key.${className}`, {}, name);
    const section = make(
      "section.card.trend",
      { "data-views": "trends", "aria-labelledby": `h-trend-${i}` },
      make("header", {}, make("h2", { id: `h-trend-${i}` }, title), lines.length > 1 ? make("p.keys", { "aria-hidden": "true" }, ...lines.map(key)) : null),
      NOTES[title] ? make("p.quiet", {}, NOTES[title]) : null,
      place,
    );
    find("#main").append(section);
    const latest = ({ name, points }) => `${format(lastOf(points))} ${name}`;
    const chart = new Chart(place, {
      format,
      ...(format === words.shortSpan && { mark: words.axisSpan, steps: words.SPAN_STEPS }),
      summary: (shown) => `${title}, at the end: ${shown.map(latest).join(", ")}`,
    });
    return { chart, lines };
  });
}

const lastOf = (points) => points.map(([, value]) => value).filter((value) => value !== null).at(-1) ?? null;

let askedAt = -Infinity;
let asked = "";

export async function keepTrends({ isNew }) {
  charts ??= build();
  const spanS = parameter("span");
  const everyMs = spanS === "600" ? EVERY_MS : SLOW_MS;
  if (!isNew && asked === spanS && performance.now() - askedAt < everyMs) return;
  [askedAt, asked] = [performance.now(), spanS];
  for (const button of find("#trends-choice").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.value === spanS));
  }
  const { points } = await ask(query("/history", { span_s: spanS }));
  if (here().view !== "trends" || parameter("span") !== spanS) return;
  show(points.map((point) => ({ ...point, second: Date.parse(point.at) / 1000 })), Number(spanS));
}

function show(points, spanS) {
  const gaps = points.filter(({ is_start }, i) => i && is_start).length;
  const runs = gaps ? `${words.counted(gaps, "gap")}: nothing ran` : "";
  say(find("#trends-note"), points.length ? runs : "Nothing was written down in that time.");
  const to = spanS ? Date.now() / 1000 : points.at(-1)?.second ?? 0;
  const from = spanS ? to - spanS : points[0]?.second ?? 0;
  for (const { chart, lines } of charts) {
    chart.show(
      lines.map(([name, field, className]) => ({
        name,
        className,
        filled: lines.length === 1,
        points: withGaps(points, (point) => field(point) ?? null),
      })),
      from,
      to,
    );
  }
}

find("#trends-choice").addEventListener("click", ({ target }) => {
  if (target.closest("button")) change({ span: target.closest("button").dataset.value });
});
