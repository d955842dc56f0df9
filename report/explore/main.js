// The page: five parts, one on show at a time, and their state in the address.

import { AskingPart } from "./asking.js";
import { CurvesPart } from "./curves.js";
import { StepPart } from "./step.js";
import { StreamPart } from "./stream.js";
import { SurfacePart } from "./surface.js";

const PARTS = { step: StepPart, stream: StreamPart, asking: AskingPart, kernel: SurfacePart, results: CurvesPart };
const data = JSON.parse(document.getElementById("data").textContent);
const parts = {};
let shown = "step";
let waiting = false;

/** Ask for one frame; the part on show draws, and asks again by returning true. */
function wake() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame((now) => {
    waiting = false;
    if (parts[shown].frame(now)) wake();
  });
}

/** Let a screen reader hear a sentence, once things have come to rest. */
let pause;
function announce(sentence) {
  clearTimeout(pause);
  pause = setTimeout(() => {
    const live = document.getElementById("live");
    const words = sentence();
    if (live.textContent !== words) live.textContent = words;
  }, 700);
}

// ------------------------------------------------------------ address

let writing;

/** Put the state of the part on show into the address, a little later: browsers allow only so many changes. */
function remember() {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const query = parts[shown].state.write();
    const address = `#${shown}${query ? `?${query}` : ""}`;
    if (location.hash !== address) history.replaceState(null, "", address);
  }, 250);
}

/** Show what the address asks for; an address that makes no sense shows the first part as it comes. */
function follow() {
  clearTimeout(writing);
  const [name, ...query] = location.hash.slice(1).split("?");
  const known = Object.hasOwn(PARTS, name);
  show(known ? name : "step");
  parts[shown].state.read(known ? query.join("?") : "");
  remember();
  wake();
  window.scrollTo(0, 0);
}

// ------------------------------------------------------------ tabs

const tabs = [...document.querySelectorAll('[role="tab"]')];

function show(name) {
  parts[shown].player?.pause();
  shown = name;
  for (const tab of tabs) {
    const chosen = tab.dataset.part === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    document.getElementById(tab.dataset.part).hidden = !chosen;
  }
  wake();
}

/** Go to a part by hand: the way back then leads to this one. */
function go(name) {
  clearTimeout(writing);
  show(name);
  const query = parts[name].state.write();
  history.pushState(null, "", `#${name}${query ? `?${query}` : ""}`);
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener("click", () => go(tab.dataset.part));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs.at(to % tabs.length);
    go(next.dataset.part);
    next.focus();
  });
}

for (const [name, Part] of Object.entries(PARTS)) {
  parts[name] = new Part(document.getElementById(name), wake, { ...data, announce });
  parts[name].state.listeners.push(() => name === shown && remember());
}

// The space bar plays and pauses, unless it has something else to press.
document.addEventListener("keydown", (event) => {
  const { player } = parts[shown];
  if (event.key !== " " || event.target !== document.body || !player) return;
  event.preventDefault();
  player.toggle();
});

document.getElementById("reset").addEventListener("click", () => {
  parts[shown].player?.pause();
  parts[shown].state.reset();
});

// ------------------------------------------------------------ light and dark, size

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function theme(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  wake();
}

document.getElementById("theme").addEventListener("click", () => {
  theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
});
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
theme(dark.matches ? "dark" : "light");

new ResizeObserver(wake).observe(document.querySelector("main"));
for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", wake);
window.addEventListener("hashchange", follow);
window.addEventListener("popstate", follow);
follow();
