// Elements, made so that nothing from the web can become markup: children are elements or text, never HTML.

/** `make("td.number", {title: "..."}, "text", child)`. `on*` attributes are listeners; null children are left out. */
export function make(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  return finish(document.createElement(tag), classes, attributes, children);
}

function finish(element, classes, attributes, children) {
  element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const find = (selector, root = document) => root.querySelector(selector);

/** Text of an element, changed only where it differs: what stays the same is neither drawn nor read out again. */
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/**
 * Make the children of `parent` match `items`: one element each, kept by its key, so that focus and selection stay
 * where they are while figures change.
 */
export function match(parent, items, keyOf, create, update) {
  const active = document.activeElement;
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let before = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = old.get(key);
    if (child) old.delete(key);
    else {
      child = create(item);
      child.dataset.key = key;
    }
    update(child, item);
    if (child === before) before = before.nextElementSibling;
    else parent.insertBefore(child, before);
  }
  for (const child of old.values()) child.remove();
  if (active && active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
}

// Marks that turn the direction of what follows, or cannot be seen: with them "gpj.exe" can look like a picture.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const named = (mark) =>
  "\t\n\r".includes(mark) ? " " : `<U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;

/** Text that strangers wrote, on one line: its invisible marks are named. */
export const visible = (text) => String(text).replace(UNSEEN, named);

/** The same as an element, isolated from what stands around it. */
export const foreign = (text) => make("bdi", {}, visible(text));

/** Names and what is known of them; pairs without a value are left out. */
export function facts(what, pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const row = ([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, foreign(value)));
  return make(`dl.facts${what}`, {}, ...known.map(row));
}

/** A row of buttons of which one is pressed. */
export function choice(group, chose) {
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
    chose(button.dataset.value);
  });
}

/** Show a dialog. Escape and the focus trap are the browser's. */
export function open(dialog) {
  if (!dialog.open) dialog.showModal();
}
