// Lines over time, drawn by uPlot (uplot/README.md); and bars. A chart is given its lines anew whenever they change, and
// draws itself again when its place changes its size or the page its colours. Pointing at it shows the figures of that
// moment, and those who cannot see it are told it in a sentence.

import { make, match, say } from "./dom.js";
import * as words from "./text.js";

const { uPlot } = window;
const charts = new Set(); // that are on the page
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200],
  ...[1, 2, 7, 14, 30, 60, 90, 180, 365].map((days) => days * 86_400),
];

export class Chart {
  /**
   * `format` writes a figure, `mark` one on the axis, where there is little room, and `summary` all of it in a
   * sentence. `steps`: what marks may be apart.
   */
  constructor(place, { format, mark = format, summary, steps }) {
    this.place = place;
    this.words = { format, mark, summary, steps };
    this.lines = [];
    this.tip = make("div.tip", { "aria-hidden": "true", hidden: true });
    this.canvas = make("div.canvas", { role: "img", "aria-label": "Nothing to draw yet" });
    place.append(this.canvas, this.tip);
    charts.add(this);
    new ResizeObserver(() => this.fit()).observe(place);
  }

  /** Lines: {name, className, filled, points: [[second, value or null], ...]}, all with the same seconds. */
  show(lines, from, to) {
    const isOther = lines.map(({ name }) => name).join() !== this.lines.map(({ name }) => name).join();
    Object.assign(this, { lines, from, to });
    this.canvas.setAttribute("aria-label", this.words.summary(lines));
    this.place.classList.toggle("drawn", lines.some(({ points }) => points.length));
    if (isOther) this.forget();
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!width || !height || !this.lines.length) return;
    this.colours = colours(this.place);
    const figures = [this.lines[0].points.map(([at]) => at), ...this.lines.map(({ points }) => points.map(([, y]) => y))];
    if (this.plot) {
      this.plot.setData(figures);
      return;
    }
    this.plot = new uPlot(this.options(width, height), figures, this.canvas);
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!this.plot) this.draw();
    else if (width && height) this.plot.setSize({ width, height });
  }

  /** Draw all of it anew the next time. */
  forget() {
    this.plot?.destroy();
    this.plot = null;
    this.tip.hidden = true;
  }

  options(width, height) {
    const { mark, steps } = this.words;
    const axis = { stroke: () => this.colours.text, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const grid = { stroke: () => this.colours.grid, width: 1 };
    return {
      width,
      height,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: {
        x: { range: () => [this.from, Math.max(this.to, this.from + 1)] },
        y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 24,
          space: 56,
          incrs: TIME_STEPS,
          values: (_, marks, axisNumber, space, step) => marks.map((at) => words.axisMoment(at, step)),
        },
        { ...axis, grid, size: 56, space: 36, ...(steps && { incrs: steps }), values: (_, marks) => marks.map((value) => round(mark(value))) },
      ],
      series: [{}, ...this.lines.map((line) => this.line(line))],
      hooks: { setCursor: [(plot) => this.point(plot)] },
    };
  }

  line({ name, className, filled }) {
    return {
      label: name,
      stroke: () => this.colours[className],
      fill: filled ? () => faint(this.colours[className]) : undefined,
      width: 1.75,
      dash: className === "second" ? [4, 3] : undefined,
      spanGaps: false,
      points: { show: (plot) => plot.data[0].length < 3, size: 5 },
    };
  }

  /** The figures of the moment that is pointed at. */
  point(plot) {
    const { idx, left } = plot.cursor;
    const found = idx === null || idx === undefined || left < 0 ? [] : this.lines.filter(({ points }) => points[idx]?.[1] != null);
    this.tip.hidden = !found.length;
    if (!found.length) return;
    this.tip.replaceChildren(
      make("span.quiet", {}, words.moment(plot.data[0][idx])),
      ...found.map(({ name, className, points }) =>
        make(`span.key.${className}`, {}, `${this.words.format(points[idx][1])} ${name}`),
      ),
    );
    const at = left + plot.over.offsetLeft;
    const isLeft = at < this.place.clientWidth / 2;
    this.tip.style.left = `${isLeft ? at + 12 : at - 12 - this.tip.offsetWidth}px`;
  }
}

// ---- colours ------------------------------------------------------------------------------------------------------

const CLASSES = ["main", "second", "bad", "warn", "third", "grid", "text"];

/** A canvas knows nothing of style sheets: what the classes of lines are coloured with is read from the page. */
function colours(place) {
  const probe = make("i.probe");
  place.append(probe);
  const found = CLASSES.map((name) => {
    probe.className = `probe ${name}`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found);
}

const faint = (colour) => colour.replace(/^rgb\((.+)\)$/, "rgba($1, 0.1)");

function repaint() {
  for (const chart of charts) {
    if (!chart.place.isConnected) charts.delete(chart);
    else if (chart.plot) {
      chart.colours = colours(chart.place);
      chart.plot.redraw(false);
    }
  }
}
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

// ---- points to lines ----------------------------------------------------------------------------------------------

/** The points of one field, with an empty one in every gap: where nothing ran, the line breaks off. */
export function withGaps(points, field) {
  const line = [];
  for (const [i, point] of points.entries()) {
    if (i && point.is_start) line.push([(points[i - 1].second + point.second) / 2, null]);
    line.push([point.second, field(point)]);
  }
  return line;
}

/** 20 instead of 20.0, 5 MB instead of 5.0 MB: marks on an axis are round. */
const round = (text) => text.replace(/\.0+(?= |$)/, "").replace(/(\.\d*?)0+(?= |$)/, "$1");

/** Bars for a short list: the word, the count, and its share of the largest. */
export function bars(list, rows) {
  const most = Math.max(...rows.map(({ value }) => value), 1);
  match(
    list,
    rows,
    ({ key }) => key,
    () =>
      make(
        "li.bar",
        {},
        make("span.bar-name"),
        make("span.bar-value"),
        make("span.bar-track", { "aria-hidden": "true" }, make("span.bar-fill")),
        make("span.bar-note"),
      ),
    (item, { name, value, text, note, href }) => {
      const [nameSpan, valueSpan, track, noteSpan] = item.children;
      if (href && !nameSpan.firstElementChild) nameSpan.append(make("a", { href }, name));
      else if (!href) say(nameSpan, name);
      say(valueSpan, text);
      say(noteSpan, note ?? "");
      track.firstChild.style.width = `${Math.max(value > 0 ? 1 : 0, (100 * value) / most)}%`;
    },
  );
}

/** Rows for bars: reasons, most first, each leading to its pages. */
export function reasonRows(counts, word, count, pagesAddress) {
  return counts.map((each) => ({
    key: each.reason,
    name: word(each.reason),
    value: each.count,
    text: count(each.count),
    note: each.explained,
    href: pagesAddress?.(each.reason),
  }));
}
