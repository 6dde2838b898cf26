// Figures in words, as the terminal writes them (text.py); and the reasons, as the server explains them.

const GROUPED = new Intl.NumberFormat("en-US");

export const count = (value) => (value === null || value === undefined ? "–" : GROUPED.format(Math.round(value)));

/** 1 page, 2 pages. */
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

export function rate(value) {
  if (value === null || value === undefined) return "–";
  return value >= 100 || value === 0 ? count(value) : value.toFixed(value >= 10 ? 1 : 2);
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  let value = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000) return unit === "B" ? `${Math.round(value)} B` : `${value.toFixed(1)} ${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(1)} TB`;
}

export function share(part, whole) {
  if (!whole || part === null || part === undefined) return "–";
  const percent = (100 * part) / whole;
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(percent < 0.1 ? 2 : 1)} %`;
}

export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toFixed(1)} s`;
  const whole = Math.floor(s);
  const two = (value) => String(value).padStart(2, "0");
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 2 * 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86400)} days`;
}

/** For an axis, and where thousandths matter: 12 ms, 3.5 s, 2 h 05 min. */
export function shortSpan(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${+(seconds * 1000).toPrecision(3)} ms`;
  return seconds < 10 ? `${+seconds.toFixed(2)} s` : span(seconds);
}

/** The same for the marks of an axis, which are round: 20 min, 1.5 h. */
export function axisSpan(seconds) {
  if (seconds < 120) return shortSpan(seconds);
  if (seconds < 7200) return `${+(seconds / 60).toFixed(1)} min`;
  return seconds < 2 * 86400 ? `${+(seconds / 3600).toFixed(1)} h` : `${+(seconds / 86400).toFixed(1)} d`;
}

/** What such marks may be apart, in seconds: up to a minute as with any number, then as clocks have it. */
export const SPAN_STEPS = [
  ...[0.001, 0.01, 0.1, 1].flatMap((power) => [power, 2 * power, 5 * power]),
  ...[10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 18_000, 43_200],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((days) => days * 86_400),
];

/** 1200000 as 1.2 M: an axis has little room. */
export function compact(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 1e9) return `${+(value / 1e9).toFixed(1)} G`;
  if (value >= 1e6) return `${+(value / 1e6).toFixed(1)} M`;
  if (value >= 1e4) return `${+(value / 1e3).toFixed(1)} k`;
  return value < 10 ? `${+value.toFixed(1)}` : count(value);
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Moments come as seconds since the epoch or as ISO 8601; they are shown in the reader's own time. */
export const dateOf = (at) => new Date(typeof at === "number" ? at * 1000 : at);
export const time = (at) => TIME.format(dateOf(at));
export const day = (at) => DAY.format(dateOf(at));
export const moment = (at) => FULL.format(dateOf(at));

/** As much of a moment as tells it apart from the next mark on its axis, so many seconds later. */
export function axisMoment(at, stepS) {
  if (stepS >= 86_400) return day(at).split(",")[0];
  return stepS >= 60 ? time(at).slice(0, 5) : time(at);
}

// ---- reasons ------------------------------------------------------------------------------------------------------

let meanings = {};

export function learnReasons(table) {
  meanings = table;
}

/** `robots_unreachable`: the word itself, for people. */
export const word = (reason) =>
  reason.replaceAll("_", " ").replace(/\b(dns|tls|url)\b/g, (name) => name.toUpperCase());

/** What the reason means; the word itself where the server did not explain it. */
export const meaning = (reason) => meanings[reason] ?? word(reason);
