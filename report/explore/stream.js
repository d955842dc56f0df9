// Part 2: two rules read the same stream, beside a perceptron.

import { bind, Player, speeds } from "./controls.js";
import { chart } from "./chart.js";
import { Plane, REACH, html, palette, percent, signed, text } from "./draw.js";
import { LinearPA, Perceptron } from "./linear.js";
import { Random, toyStream } from "./random.js";
import { VARIANTS } from "./rules.js";
import { State, choice, flag, labelled, number, places, whole } from "./state.js";

export const SIZES = [40, 100, 200, 500];
const MOST_ADDED = 60;

export const STREAM = {
  left: choice("PA", VARIANTS),
  right: choice("PA-I", VARIANTS),
  C: number(0.1, 0.001, 100),
  wrong: number(0, 0, 0.4),
  order: choice("drawn", ["drawn", "shuffled", "sorted"]),
  n: choice(40, SIZES),
  average: flag(true),
  flip: places(100, 600),
  add: labelled(MOST_ADDED, REACH),
  seed: whole(562, 1, 999), // with a fifth wrong, example 20 is, and the counts are near the mean of all such draws
  tap: choice("flip", ["flip", "plus", "minus"]),
  speed: choice(speeds.initial, speeds.options),
  t: whole(20, 0, 600),
};

/** The stream that the values describe, in the order of reading: `{ x, y, given, place }`, `given` maybe wrong. */
export function streamOf({ n, add, seed, wrong, flip, order }, toy) {
  const points = [...toyStream(toy, n), ...add.map(([a, b, y]) => ({ x: [a, b], y }))];
  const random = new Random(seed);
  const unlucky = new Set(random.permutation(n).slice(0, Math.round(wrong * n)));
  const shuffled = random.permutation(points.length);
  const rows = points.map(({ x, y }, place) => {
    const turned = unlucky.has(place) !== flip.includes(place);
    return { x, y, given: turned ? -y : y, place };
  });
  if (order === "shuffled") return shuffled.map((place) => rows[place]);
  if (order === "sorted") return [...rows].sort((a, b) => a.given - b.given || a.place - b.place);
  return rows;
}

/** Let a linear learner read the stream; what it was after each example, from none on. */
export function record(model, rows) {
  const run = { weights: [model.w.slice()], averages: [model.averaged()], mistakes: [0], updates: [0], tau: [] };
  for (const { x, given } of rows) {
    run.tau.push(model.learn(x, given).tau);
    run.weights.push(model.w.slice());
    run.averages.push(model.averaged());
    run.mistakes.push(model.mistakes);
    run.updates.push(model.updates);
  }
  run.wrong = run.weights.map((w) => missed(w, rows));
  run.wrongAverage = run.averages.map((w) => missed(w, rows));
  return run;
}

/** How many true labels the weights get wrong; a score of 0 counts as -1. */
export function missed(w, rows) {
  let count = 0;
  for (const { x, y } of rows) if (w[0] * x[0] + w[1] * x[1] + w[2] > 0 !== y > 0) count += 1;
  return count;
}

/** Weights on the way from one example to the next, for a glide. */
export function between(list, t, phase) {
  if (phase >= 1 || t === 0) return list[t];
  const ease = phase * phase * (3 - 2 * phase);
  return list[t].map((value, j) => list[t - 1][j] + ease * (value - list[t - 1][j]));
}

/** Draw the points of a stream: pale before they are read. */
export function drawPoints(plane, rows, t, colors, asked) {
  const radius = (rows.length > 250 ? 3.4 : rows.length > 110 ? 4.4 : 6) * plane.shrink();
  rows.forEach(({ x, y, given }, i) => {
    const hollow = asked !== undefined && i < t && !asked(i);
    const alpha = i >= t ? 0.32 : hollow ? 0.75 : 1;
    plane.point(x, asked ? y : given, colors, { radius, alpha, hollow, wrong: given !== y });
  });
  if (t > 0) plane.ring(rows[t - 1].x, radius + 7, colors.accent, 2.5);
}

export class StreamPart {
  constructor(panel, wake, { toy, announce }) {
    Object.assign(this, { panel, toy, announce, state: new State(STREAM) });
    this.planes = ["left", "right"].map((side) => new Plane(panel.querySelector(`canvas.${side}`), REACH));
    this.cursor = [0, 0];
    this.state.listeners.push((changed) => {
      if (changed.some((key) => !["t", "speed", "tap", "average"].includes(key))) this.run();
      wake();
    });
    bind(panel, this.state, { wrong: percent });
    this.run();
    this.player = new Player(panel, this.state, () => this.rows.length, wake);
    panel.querySelector(".flip").addEventListener("click", () => this.flip(this.rows[this.player.t - 1]?.place));
    panel
      .querySelector(".again")
      .addEventListener("click", () => this.state.set({ seed: (this.state.values.seed % 999) + 1 }));
    panel.querySelector(".undo").addEventListener("click", () => this.state.set({ flip: [], add: [] }));
    for (const plane of this.planes) this.listen(plane, wake);
  }

  /** Taps and keys on a picture: flip a label, or add a point. */
  listen(plane, wake) {
    plane.canvas.addEventListener("click", (event) => {
      this.pointed = undefined;
      this.tap(plane.from(event), plane);
    });
    plane.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (by) this.cursor = this.cursor.map((v, i) => Math.max(-REACH, Math.min(REACH, v + 0.2 * by[i])));
      else if (event.key === "Enter" || event.key === " ") this.tap(this.cursor, plane);
      else return;
      event.preventDefault();
      this.pointed = plane;
      wake();
    });
    plane.canvas.addEventListener("blur", () => {
      this.pointed = undefined;
      wake();
    });
  }

  tap(point, plane) {
    const { tap, add } = this.state.values;
    if (tap !== "flip") {
      const place = point.map((v) => Number(Math.max(-REACH, Math.min(REACH, v)).toFixed(2)));
      this.state.set({ add: [...add, [...place, tap === "plus" ? 1 : -1]] });
      return;
    }
    const away = ({ x }) => Math.hypot(x[0] - point[0], x[1] - point[1]);
    const nearest = this.rows.reduce((best, row) => (away(row) < away(best) ? row : best));
    if ((away(nearest) * plane.size) / (2 * REACH) < 22) this.flip(nearest.place);
  }

  flip(place) {
    if (place === undefined) return;
    const { flip } = this.state.values;
    this.state.set({ flip: flip.includes(place) ? flip.filter((each) => each !== place) : [...flip, place] });
  }

  run() {
    const { left, right, C } = this.state.values;
    this.rows = streamOf(this.state.values, this.toy);
    this.runs = [left, right].map((variant) => record(new LinearPA({ variant, C }), this.rows));
    this.runs.push(record(new Perceptron(), this.rows));
  }

  frame(now) {
    const more = this.player.frame(now);
    const { t, phase } = this.player;
    const colors = palette();
    const names = [this.state.values.left, this.state.values.right];
    this.planes.forEach((plane, side) => {
      if (!plane.begin()) return;
      const run = this.runs[side];
      const w = between(run.weights, t, phase);
      plane.sides(w, colors);
      drawPoints(plane, this.rows, t, colors);
      if (this.state.values.average)
        plane.line(between(run.averages, t, phase), colors[names[side]], { width: 2.5, dash: [7, 5] });
      const seen = plane.line(w, colors[names[side]], { width: 3.5 });
      this.panel.querySelectorAll(".outside")[side].hidden = seen || t === 0;
      if (this.pointed === plane) plane.cross(this.cursor, 9, colors.accent, 2);
    });
    this.numbers(t, names, colors);
    return more;
  }

  numbers(t, names, colors) {
    const labels = [...names, "perceptron"];
    const body = this.panel.querySelector(".counts tbody");
    if (body.children.length === 0)
      body.append(
        ...labels.map(() => html("tr", {}, html("th", { scope: "row" }), ...[0, 1, 2, 3].map(() => html("td")))),
      );
    this.runs.forEach((run, i) => {
      const [name, ...cells] = body.children[i].children;
      name.textContent = labels[i];
      const values = [run.mistakes[t], run.updates[t], run.wrong[t], run.wrongAverage[t]];
      cells.forEach((cell, j) => (cell.textContent = values[j]));
    });
    ["left", "right"].forEach((side, i) => {
      const count = html("b", {}, this.runs[i].wrong[t]);
      this.panel.querySelector(`small.${side}`).replaceChildren(count, ` of ${this.rows.length} wrong`);
    });
    this.chart(t, names, colors);
    const { flip, add } = this.state.values;
    this.panel.querySelector(".undo").hidden = flip.length + add.length === 0;
    const button = this.panel.querySelector(".flip");
    button.disabled = t === 0;
    const row = this.rows[t - 1];
    const reading = this.panel.querySelector(".reading");
    reading.textContent = row ? this.reading(t, row, names) : "Nothing has been read yet: the weights are 0.";
    this.announce(() => reading.textContent);
  }

  /** The share of points that both rules get wrong after each example, by the true labels. */
  chart(t, names, colors) {
    const n = this.rows.length;
    const points = (counts) => counts.slice(0, t + 1).map((count, at) => [at, count / n]);
    const runs = names.map((name, i) => ({ name, color: colors[name], run: this.runs[i] }));
    const lines = runs.map(({ name, color, run }) => ({ name, color, points: points(run.wrong) }));
    if (this.state.values.average) {
      for (const { name, color, run } of runs)
        lines.push({ name: `${name} averaged`, color, dash: "6 4", points: points(run.wrongAverage) });
    }
    const most = Math.max(...runs.flatMap(({ run }) => [...run.wrong, ...run.wrongAverage])) / n;
    chart(this.panel.querySelector(".errors"), {
      x: { name: "examples read", low: 0, high: n },
      y: { name: "share of points wrong", low: 0, high: Math.ceil(10 * most) / 10, show: percent },
      lines,
    });
  }

  reading(t, { y, given }, names) {
    const label = given === y ? `label ${signed(given)}` : `label ${signed(given)}, which is wrong`;
    if (this.runs[0].tau[t - 1] === 0 && this.runs[1].tau[t - 1] === 0) {
      return `Example ${t}, ${label}: the loss is 0 on both sides, so nothing moves.`;
    }
    const moves = names.map((name, i) => {
      const tau = this.runs[i].tau[t - 1];
      return tau ? `${name} takes a step of τ = ${text(tau, 3)}` : `${name} stays where it is`;
    });
    return `Example ${t}, ${label}: ${moves.join("; ")}.`;
  }
}
