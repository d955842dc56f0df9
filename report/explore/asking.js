// Part 3: labels asked for where the score is small, beside the same number asked for at random.

import { bind, Player, speeds } from "./controls.js";
import { chart } from "./chart.js";
import { Plane, REACH, html, palette, percent, text } from "./draw.js";
import { LinearPA } from "./linear.js";
import { Random, clouds } from "./random.js";
import { VARIANTS } from "./rules.js";
import { State, choice, number, whole } from "./state.js";
import { SIZES, between, drawPoints, streamOf } from "./stream.js";

const DELTAS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const REPEATS = 200;
const WEIGHTS = ["last", "averaged"];
const UNSEEN = clouds(500, new Random(77));

export const ASKING = {
  delta: number(0.2, 0.01, 10),
  rule: choice("PA-I", VARIANTS),
  C: number(1, 0.001, 100),
  weights: choice("last", WEIGHTS),
  n: choice(200, SIZES),
  seed: whole(69, 1, 999), // a stream whose outcome is near the mean of many
  speed: choice(10, speeds.options),
  t: whole(200, 0, 500),
};

/** Share of points on their side of the line. */
function right(w, points) {
  return points.filter(({ x, y }) => w[0] * x[0] + w[1] * x[1] + w[2] > 0 === y > 0).length / points.length;
}

/** The mean of some numbers, and the half-width of its 95 % interval. */
class Mean {
  constructor() {
    this.n = this.sum = this.squares = 0;
  }

  add(value) {
    this.n += 1;
    this.sum += value;
    this.squares += value * value;
  }

  get mean() {
    return this.sum / this.n;
  }

  get spread() {
    return 1.96 * Math.sqrt(Math.max(0, this.squares / this.n - this.mean * this.mean) / this.n);
  }
}

/** Both ways to ask on one stream. Random asking gets the rate at which it asks exactly as often by the end. */
export function compare({ rule: variant, C, delta }, rows, seed) {
  const random = new Random(seed + 1e6);
  const margin = new LinearPA({ variant, C, query: "margin", delta });
  const draws = random.draws(rows.length);
  const other = random.draws(rows.length);
  const runs = [{ model: margin, draws }];
  ask(runs[0], rows);
  const rate = margin.queries < rows.length ? [...other].sort((a, b) => a - b)[margin.queries] : 1;
  runs.push({ model: new LinearPA({ variant, C, query: "random", rate }), draws: other });
  ask(runs[1], rows);
  return runs;
}

/** Let a learner that chooses its labels read the stream; what it was after each example. */
function ask(run, rows) {
  const { model, draws } = run;
  Object.assign(run, { asked: [], queries: [0], weights: [model.w.slice()], averages: [model.averaged()] });
  rows.forEach(({ x, given, y }, i) => {
    run.asked.push(model.learn(x, given ?? y, draws[i]).tau !== null);
    run.queries.push(model.queries);
    run.weights.push(model.w.slice());
    run.averages.push(model.averaged());
  });
}

export class AskingPart {
  constructor(panel, wake, { toy, announce }) {
    Object.assign(this, { panel, toy, announce, wake, state: new State(ASKING) });
    this.planes = ["left", "right"].map((side) => new Plane(panel.querySelector(`canvas.${side}`), REACH));
    this.state.listeners.push((changed) => {
      if (changed.some((key) => !["t", "speed", "weights"].includes(key))) this.run();
      if (changed.some((key) => !["t", "speed", "delta", "seed", "weights"].includes(key))) this.study();
      wake();
    });
    bind(panel, this.state);
    this.run();
    this.study();
    this.player = new Player(panel, this.state, () => this.rows.length, wake);
    panel
      .querySelector(".again")
      .addEventListener("click", () => this.state.set({ seed: (this.state.values.seed % 999) + 1 }));
  }

  run() {
    const { n, seed } = this.state.values;
    this.rows = streamOf({ n, seed, add: [], wrong: 0, flip: [], order: "drawn" }, this.toy);
    this.runs = compare(this.state.values, this.rows, seed);
  }

  /** Begin the chart anew: every delta on many streams, a little in each frame, so that nothing stops. */
  study() {
    const both = () => ({ last: new Mean(), averaged: new Mean() });
    this.done = 0;
    this.every = both();
    this.deltas = DELTAS.map((delta) => ({
      delta,
      labels: new Mean(),
      ways: [both(), both()],
      gain: both(),
      shrinks: new Mean(),
    }));
  }

  /** One more stream for the chart. */
  studyOne() {
    const { rule: variant, C, n } = this.state.values;
    const seed = 5000 + this.done;
    const rows = clouds(n, new Random(seed));
    const quality = (model) => ({ last: right(model.w, UNSEEN), averaged: right(model.averaged(), UNSEEN) });
    const all = new LinearPA({ variant, C });
    for (const { x, y } of rows) all.learn(x, y);
    const best = quality(all);
    for (const weights of WEIGHTS) this.every[weights].add(best[weights]);
    for (const { delta, labels, ways, gain, shrinks } of this.deltas) {
      const models = compare({ rule: variant, C, delta }, rows, seed).map(({ model }) => model);
      const [small, random] = models.map(quality);
      labels.add(models[0].queries);
      for (const weights of WEIGHTS) {
        ways[0][weights].add(small[weights]);
        ways[1][weights].add(random[weights]);
        gain[weights].add(small[weights] - random[weights]);
      }
      shrinks.add(small.last - random.last - (small.averaged - random.averaged));
    }
    this.done += 1;
  }

  frame(now) {
    const start = performance.now();
    while (this.done < REPEATS && performance.now() - start < 6) this.studyOne();
    const more = this.player.frame(now);
    const { t, phase } = this.player;
    const colors = palette();
    const { weights, delta } = this.state.values;
    this.planes.forEach((plane, side) => {
      if (!plane.begin()) return;
      const run = this.runs[side];
      const last = between(run.weights, t, phase);
      const w = weights === "last" ? last : between(run.averages, t, phase);
      plane.sides(w, colors);
      if (side === 0)
        for (const level of [delta, -delta]) plane.line(last, colors.muted, { width: 2.2, dash: [3, 4], level });
      drawPoints(plane, this.rows, t, colors, (i) => run.asked[i]);
      plane.line(w, side ? colors.PALS : colors["PA-I"], { width: 3.5 });
    });
    this.numbers(t, colors);
    return more || this.done < REPEATS;
  }

  numbers(t, colors) {
    const { weights, n } = this.state.values;
    const names = ["small score", "at random"];
    const body = this.panel.querySelector(".counts tbody");
    if (body.children.length === 0)
      body.append(...names.map(() => html("tr", {}, html("th", { scope: "row" }), html("td"), html("td"))));
    const quality = this.runs.map((run) => right((weights === "last" ? run.weights : run.averages)[t], UNSEEN));
    this.runs.forEach((run, i) => {
      const [name, asked, good] = body.children[i].children;
      name.textContent = names[i];
      asked.textContent = `${run.queries[t]} of ${t}`;
      good.textContent = percent(quality[i]);
    });
    if (this.done) this.chart(names, colors, n);
    const reading = this.panel.querySelector(".stream-now");
    const asked = this.runs[0].queries.at(-1);
    reading.textContent = `δ = ${text(this.state.values.delta, 3)} asks for ${asked} of the ${n} labels here.`;
    const found = this.panel.querySelector(".found");
    if (this.done < REPEATS) found.textContent = "Reading other streams …";
    else found.replaceChildren(...this.found(n));
    this.announce(() => `${reading.textContent} ${found.textContent}`);
  }

  /** The chart in words: how many labels are enough, and what choosing them gains. */
  found(n) {
    const { weights, delta } = this.state.values;
    const about = ({ labels }) => `about ${text(labels.mean, 0)} labels`;
    const all = this.every[weights].mean;
    const most = this.deltas.at(-1);
    const short = text(100 * (all - most.ways[0][weights].mean), 2);
    const enough = this.deltas.find(({ ways }) => ways[0][weights].mean >= all);
    const match = enough
      ? `Asked for where the score is small, ${about(enough)} match all ${n} here.`
      : `Here even ${about(most)} fall ${short} percentage points short of all ${n}.`;
    const near = (each) => Math.abs(Math.log(each.delta / delta));
    const point = this.deltas.reduce((best, each) => (near(each) < near(best) ? each : best));
    const gain = ({ mean, spread }) => `${text(100 * mean, 1, true)}\u00a0±\u00a0${text(100 * spread, 1, true)}`;
    const shrinks = point.shrinks.mean > point.shrinks.spread;
    return [
      html("b", {}, match),
      ` At δ = ${text(point.delta)}, ${about(point)}, the gain over random asking is ${gain(point.gain.last)} ` +
        `percentage points with the last weights. ${shrinks ? "Averaging shrinks it to" : "Averaged, it is"} ` +
        `${gain(point.gain.averaged)}.`,
    ];
  }

  chart(names, colors, n) {
    const { weights } = this.state.values;
    const lines = names.map((name, i) => ({
      name,
      color: i ? colors.PALS : colors["PA-I"],
      dash: i ? "6 3" : "none",
      points: this.deltas.map(({ labels, ways }) => {
        const { mean, spread } = ways[i][weights];
        return [labels.mean, mean, mean - spread, mean + spread];
      }),
    }));
    const all = this.every[weights].mean;
    lines.push({
      name: "every label",
      color: colors.muted,
      dash: "2 3",
      points: [
        [lines[0].points[0][0], all],
        [n, all],
      ],
    });
    const values = lines.flatMap(({ points }) => points.flatMap((p) => p.slice(1)));
    const labels = lines[0].points.map((p) => p[0]);
    chart(this.panel.querySelector(".quality"), {
      x: { name: "labels asked for", low: Math.max(1, Math.min(...labels) * 0.9), high: n, log: true },
      y: {
        name: "right on unseen points",
        low: Math.floor(20 * Math.min(...values)) / 20,
        high: Math.ceil(50 * Math.max(...values)) / 50,
        show: (v) => `${text(100 * v, 0)} %`,
      },
      lines,
      dots: false,
      guide: Math.max(Math.min(...labels), this.runs[0].queries.at(-1)),
    });
    this.panel.querySelector(".repeats").textContent = `Mean of ${this.done} other streams; band: 95 % interval.`;
  }
}
