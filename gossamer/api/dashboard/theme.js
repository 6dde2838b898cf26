// Light, dark, or as the system has it. Loaded before the page is drawn, so that nobody sees the wrong one first.

const KEY = "gossamer-theme";
const root = document.documentElement;

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser may keep nothing; then it is as the system has it
  }
}

const isDarkNow = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

const theme = remembered();
if (theme === "light" || theme === "dark") root.dataset.theme = theme;

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-do=theme]");
  if (!button) return;
  root.dataset.theme = isDarkNow() ? "light" : "dark";
  try {
    localStorage.setItem(KEY, root.dataset.theme);
  } catch {
    // as above
  }
});
