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
const UNSEEN = clouds(500, new Random(77));

export const ASKING = {
  delta: number(0.2, 0.01, 10),
  rule: choice("PA-I", VARIANTS),
  C: number(1, 0.001, 100),
  weights: choice("last", ["last", "averaged"]),
  n: choice(200, SIZES),
  seed: whole(69, 1, 999), // a stream whose outcome is near the mean of many
  speed: choice(10, speeds.options),
  t: whole(200, 0, 500),
};

/** Share of points on their side of the line. */
function right(w, points) {
  return points.filter(({ x, y }) => w[0] * x[0] + w[1] * x[1] + w[2] > 0 === y > 0).length / points.length;
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
      if (changed.some((key) => !["t", "speed", "delta", "seed"].includes(key))) this.study();
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
    const empty = () => DELTAS.map(() => ({ labels: 0, sum: 0, squares: 0 }));
    this.done = 0;
    this.sums = [empty(), empty()];
    this.every = 0;
  }

  /** One more stream for the chart. */
  studyOne() {
    const { rule: variant, C, n, weights } = this.state.values;
    const seed = 5000 + this.done;
    const rows = clouds(n, new Random(seed));
    const final = (model) => right(weights === "last" ? model.w : model.averaged(), UNSEEN);
    DELTAS.forEach((delta, j) => {
      compare({ rule: variant, C, delta }, rows, seed).forEach(({ model }, i) => {
        const quality = final(model);
        const sums = this.sums[i][j];
        sums.labels += model.queries;
        sums.sum += quality;
        sums.squares += quality * quality;
      });
    });
    const all = new LinearPA({ variant, C });
    for (const { x, y } of rows) all.learn(x, y);
    this.every += final(all);
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
        for (const level of [delta, -delta]) plane.line(last, colors.muted, { width: 1.2, dash: [2, 4], level });
      drawPoints(plane, this.rows, t, colors, (i) => run.asked[i]);
      plane.line(w, side ? colors.PALS : colors["PA-I"], { width: 3 });
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
    const reading = this.panel.querySelector(".reading");
    const asked = this.runs[0].queries.at(-1);
    reading.textContent =
      `δ = ${text(this.state.values.delta, 3)} asks for ${asked} of the ${n} labels here. ` +
      "Filled points were asked for; hollow ones passed without their label being read.";
    this.announce(() => reading.textContent);
  }

  chart(names, colors, n) {
    const lines = this.sums.map((sums, i) => ({
      name: names[i],
      color: i ? colors.PALS : colors["PA-I"],
      dash: i ? "6 3" : "none",
      points: sums.map(({ labels, sum, squares }) => {
        const mean = sum / this.done;
        const spread = 1.96 * Math.sqrt(Math.max(0, squares / this.done - mean * mean) / this.done);
        return [labels / this.done, mean, mean - spread, mean + spread];
      }),
    }));
    const all = this.every / this.done;
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
