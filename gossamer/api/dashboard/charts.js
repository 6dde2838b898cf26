// Lines over time, drawn as SVG. A chart is given its series anew whenever they change, and draws itself again when
// its place changes its size. Pointing at it shows the figures of that moment.

import { draw, make, match, say } from "./dom.js";

const LEFT = 46;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 22;

export class Chart {
  /**
   * `format` writes a figure, `timeLabel` a moment on the axis, `moment` one that is pointed at, and `summary` all of
   * it in a sentence, for those who cannot see it.
   */
  constructor(place, { format, timeLabel, moment, summary }) {
    this.place = place;
    this.words = { format, timeLabel, moment, summary };
    this.series = [];
    this.pointedAt = null;
    this.svg = draw("svg", { role: "img" });
    this.tip = make("div.tip", { "aria-hidden": "true", hidden: true });
    place.append(this.svg, this.tip);
    place.addEventListener("pointermove", (event) => this.point(event.offsetX));
    place.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.redraw()).observe(place);
  }

  /** Series: {name, className, filled, points: [[second, value or null], ...]}, all over the same span. */
  show(series, from, to) {
    Object.assign(this, { series, from, to });
    this.redraw();
  }

  redraw() {
    const width = this.place.clientWidth;
    const height = this.place.clientHeight;
    if (!width || !height || this.to === undefined) return;
    const most = Math.max(...this.series.flatMap(({ points }) => points.map(([, value]) => value ?? 0)), 0);
    const step = niceStep(most / 4);
    const top = Math.max(step, Math.ceil((most * 1.02) / step) * step);
    const x = (at) => LEFT + ((at - this.from) / (this.to - this.from || 1)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM);
    this.scale = { x, y, height };

    const parts = [];
    for (let value = 0; value <= top + step / 2; value += step) {
      const level = Math.round(y(value)) + 0.5;
      parts.push(draw(value ? "line.grid" : "line.base", { x1: LEFT, x2: width - RIGHT, y1: level, y2: level }));
      parts.push(draw("text.axis", { x: LEFT - 8, y: level + 4, "text-anchor": "end" }, round(this.words.format(value))));
    }
    const labels = width < 480 ? 3 : 6;
    for (let i = 0; i < labels; i += 1) {
      const at = this.from + ((this.to - this.from) * i) / (labels - 1);
      const anchor = i === 0 ? "start" : i === labels - 1 ? "end" : "middle";
      parts.push(
        draw("text.axis", { x: x(at), y: height - 4, "text-anchor": anchor }, this.words.timeLabel(at, this.from, this.to)),
      );
    }
    for (const { points, className, filled } of this.series) {
      for (const run of runs(points)) {
        const line = run.map(([at, value]) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
        if (filled) {
          const ends = [x(run.at(-1)[0]), x(run[0][0])].map((end) => `${end.toFixed(1)} ${y(0).toFixed(1)}`);
          parts.push(draw(`path.area.${className}`, { d: `M${line}L${ends.join("L")}Z` }));
        }
        parts.push(draw(`path.line.${className}`, { d: `M${line}` }));
      }
    }
    this.marks = draw("g");
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", this.words.summary(this.series));
    this.svg.replaceChildren(...parts, this.marks);
    this.mark();
  }

  point(offset) {
    this.pointedAt = offset;
    if (this.scale) this.mark();
  }

  /** The moment that is pointed at: a line, a dot on each series, and the figures. */
  mark() {
    const near = this.pointedAt === null ? null : this.nearest(this.pointedAt);
    this.tip.hidden = near === null;
    if (near === null) {
      this.marks.replaceChildren();
      return;
    }
    const { x, y, height } = this.scale;
    const here = x(near);
    const found = this.series
      .map(({ name, className, points }) => ({ name, className, value: points.find(([at]) => at === near)?.[1] }))
      .filter(({ value }) => value !== undefined && value !== null);
    this.marks.replaceChildren(
      draw("line.cross", { x1: here, x2: here, y1: TOP, y2: height - BOTTOM }),
      ...found.map(({ className, value }) => draw(`circle.dot.${className}`, { cx: here, cy: y(value), r: 3 })),
    );
    this.tip.replaceChildren(
      make("span.quiet", {}, this.words.moment(near)),
      ...found.map(({ name, className, value }) =>
        make(`span.key.${className}`, {}, `${this.words.format(value)} ${name}`),
      ),
    );
    const isLeft = here < this.place.clientWidth / 2;
    this.tip.style.left = `${isLeft ? here + 10 : here - 10 - this.tip.offsetWidth}px`;
  }

  nearest(offset) {
    let best = null;
    for (const [at] of this.series[0]?.points ?? []) {
      if (best === null || Math.abs(this.scale.x(at) - offset) < Math.abs(this.scale.x(best) - offset)) best = at;
    }
    return best;
  }
}

/** The stretches of points that have a value: where there is none, the line breaks off. */
function* runs(points) {
  let run = [];
  for (const point of points) {
    if (point[1] !== null) run.push(point);
    else if (run.length) {
      yield run;
      run = [];
    }
  }
  if (run.length) yield run;
}

/** 20 instead of 20.0, 5 MB instead of 5.0 MB: marks on an axis are round. */
const round = (text) => text.replace(/\.0+(?= |$)/, "").replace(/(\.\d*?)0+(?= |$)/, "$1");

/** 1, 2 or 5 times a power of ten, at least this much. */
function niceStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * 0.999);
}

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
    (item, { name, value, text, note }) => {
      const [nameSpan, valueSpan, track, noteSpan] = item.children;
      say(nameSpan, name);
      say(valueSpan, text);
      say(noteSpan, note ?? "");
      track.firstChild.style.width = `${Math.max(value > 0 ? 1 : 0, (100 * value) / most)}%`;
    },
  );
}
