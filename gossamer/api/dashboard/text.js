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
  if (!whole) return "–";
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

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Moments come as seconds since the epoch or as ISO 8601; they are shown in the reader's own time. */
export const dateOf = (at) => new Date(typeof at === "number" ? at * 1000 : at);
export const time = (at) => TIME.format(dateOf(at));
export const day = (at) => DAY.format(dateOf(at));
export const moment = (at) => FULL.format(dateOf(at));

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
