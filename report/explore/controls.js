// Form controls bound to a State, and the bar that plays a stream.

import { html, text } from "./draw.js";

/** Bind every control with `data-key` in a panel to the value of that name. */
export function bind(panel, state, formats = {}) {
  const controls = [...panel.querySelectorAll("[data-key]")].map((control) => bound(control, state));
  const outputs = [...panel.querySelectorAll("[data-show]")];
  const sync = () => {
    for (const output of outputs) {
      const key = output.dataset.show;
      output.textContent = (formats[key] ?? ((value) => text(value, 3)))(state.values[key]);
    }
    controls.forEach((show) => show());
  };
  state.listeners.push(sync);
  sync();
}

/** Let one control change its value; returns the function that shows the value in it. */
function bound(control, state) {
  const key = control.dataset.key;
  const type = state.schema[key];
  if (control.type === "range") {
    const log = control.dataset.scale === "log";
    if (log) {
      control.min = Math.log10(type.low);
      control.max = Math.log10(type.high);
      control.step = 0.05;
    }
    control.addEventListener("input", () => {
      const value = Number(control.value);
      state.set({ [key]: log ? Number((10 ** value).toPrecision(2)) : value });
    });
    return () => {
      const value = state.values[key];
      const place = log ? Math.log10(value) : value;
      if (!log || Math.abs(Number(control.value) - place) > 0.026) control.value = place;
      control.setAttribute("aria-valuetext", control.parentElement.querySelector(".value").textContent);
    };
  }
  if (control.type === "number") {
    const i = Number(control.dataset.index);
    control.addEventListener("change", () => {
      const value = [...state.values[key]];
      value[i] = control.value === "" ? NaN : Number(control.value);
      state.set({ [key]: value });
      control.value = state.values[key][i];
    });
    return () => {
      if (control !== document.activeElement || Number(control.value) !== state.values[key][i])
        control.value = state.values[key][i];
    };
  }
  if (control.type === "checkbox" && control.value !== "on") {
    control.addEventListener("change", () => {
      const now = state.values[key];
      const next = type.options.filter((word) => (word === control.value ? control.checked : now.includes(word)));
      if (next.length) state.set({ [key]: next });
      control.checked = state.values[key].includes(control.value);
    });
    return () => {
      control.checked = state.values[key].includes(control.value);
    };
  }
  if (control.type === "checkbox") {
    control.addEventListener("change", () => state.set({ [key]: control.checked }));
    return () => {
      control.checked = state.values[key];
    };
  }
  control.addEventListener("change", () => state.set({ [key]: type.read(control.value) }));
  return () => {
    control.value = String(state.values[key]);
  };
}

const SPEEDS = [2, 5, 10, 30, 60];

/** How fast a stream plays, in examples per second. */
export const speeds = { initial: 5, options: SPEEDS };

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * The bar that plays a stream: `state.values.t` examples have been read. `length()` says how many there are. Between
 * two examples `phase` runs from 0 to 1, for a short glide; without it where the reader wants less motion.
 */
export class Player {
  constructor(panel, state, length, wake) {
    Object.assign(this, { state, length, wake, playing: false, phase: 1 });
    this.bar = panel.querySelector(".playbar");
    this.bar.append(document.getElementById("playbar").content.cloneNode(true));
    this.slider = this.bar.querySelector("input");
    this.count = this.bar.querySelector(".value");
    this.speed = this.bar.querySelector("select");
    this.speed.append(...SPEEDS.map((speed) => html("option", { value: speed }, `${speed} a second`)));
    this.buttons = Object.fromEntries([...this.bar.querySelectorAll("button")].map((b) => [b.dataset.do, b]));
    this.buttons.play.addEventListener("click", () => this.toggle());
    this.buttons.next.addEventListener("click", () => this.move(1));
    this.buttons.back.addEventListener("click", () => this.move(-1));
    this.buttons.start.addEventListener("click", () => this.move(-Infinity));
    this.slider.addEventListener("input", () => {
      this.pause();
      this.phase = 1;
      state.set({ t: Number(this.slider.value) });
    });
    this.speed.addEventListener("change", () => state.set({ speed: Number(this.speed.value) }));
    state.listeners.push(() => this.sync());
    this.sync();
  }

  /** Examples read so far; the address may ask for more than there are. */
  get t() {
    return Math.min(this.state.values.t, this.length());
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.t >= this.length()) this.state.set({ t: 0 });
    this.playing = true;
    this.last = undefined;
    this.sync();
    this.wake();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.sync();
  }

  /** Go some examples on or back, by hand. */
  move(by) {
    this.pause();
    const t = Math.max(0, Math.min(this.length(), this.t + by));
    if (by === 1 && t > this.t && !still.matches) this.glide();
    this.state.set({ t });
  }

  glide() {
    this.phase = 0;
    this.last = undefined;
    this.wake();
  }

  /** Go on with the time; true while there is more to come. */
  frame(now) {
    const passed = this.last === undefined ? 0 : Math.min(100, now - this.last) / 1000;
    this.last = now;
    const { speed } = this.state.values;
    if (this.phase < 1) this.phase = Math.min(1, this.phase + passed / Math.min(0.35, 0.7 / speed));
    if (!this.playing) return this.phase < 1;
    this.due = (this.due ?? 0) + passed * speed;
    const steps = Math.floor(this.due);
    if (steps > 0) {
      this.due -= steps;
      const t = Math.min(this.length(), this.t + steps);
      this.phase = still.matches || speed > 10 ? 1 : 0;
      this.state.set({ t });
      if (t >= this.length()) this.pause();
    }
    return this.playing || this.phase < 1;
  }

  sync() {
    const n = this.length();
    this.slider.max = n;
    this.slider.value = this.t;
    this.count.textContent = `${this.t} of ${n}`;
    this.slider.setAttribute("aria-valuetext", `${this.t} of ${n} examples read`);
    this.buttons.play.textContent = this.playing ? "Pause" : "Play";
    this.buttons.next.disabled = this.t >= n;
    this.buttons.back.disabled = this.buttons.start.disabled = this.t <= 0;
    this.speed.value = String(this.state.values.speed);
  }
}
