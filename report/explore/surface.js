// Part 4: the surface of a kernel learner, without and with a budget of vectors.

import { bind, Player, speeds } from "./controls.js";
import { chart } from "./chart.js";
import { Plane, REACH, html, palette, percent } from "./draw.js";
import { KernelPA, kernelFunction } from "./kernel.js";
import { POLICIES } from "./budget.js";
import { Random, SHAPES } from "./random.js";
import { VARIANTS } from "./rules.js";
import { State, choice, number, whole } from "./state.js";
import { SIZES } from "./stream.js";

const GRID = 72;
const CENTRES = Array.from({ length: GRID }, (_, i) => ((2 * i + 1) / GRID - 1) * REACH);
const DEGREE = 2;

export const SURFACE = {
  data: choice("moons", Object.keys(SHAPES)),
  kernel: choice("rbf", ["rbf", "poly", "linear"]),
  gamma: number(0.5, 0.02, 20),
  budget: whole(12, 2, 60),
  policy: choice("projection", Object.keys(POLICIES)),
  rule: choice("PA-I", VARIANTS),
  C: number(1, 0.001, 100),
  n: choice(200, SIZES),
  seed: whole(1, 1, 999),
  speed: choice(10, speeds.options),
  t: whole(200, 0, 500),
};

/** Heights of a sum of kernel functions over the grid, row by row from the top. */
export function heights(vectors, coefficients, settings, out = new Float64Array(GRID * GRID)) {
  if (settings.kernel !== "rbf") {
    const k = kernelFunction(settings);
    for (let row = 0; row < GRID; row++) {
      for (let column = 0; column < GRID; column++) {
        const x = [CENTRES[column], CENTRES[GRID - 1 - row]];
        let sum = 0;
        for (let j = 0; j < vectors.length; j++) sum += coefficients[j] * k(x, vectors[j]);
        out[row * GRID + column] += sum;
      }
    }
    return out;
  }
  // exp(-gamma |x - s|^2) is a product of a factor for the row and one for the column.
  vectors.forEach((s, j) => {
    const [across, up] = s.map((v) => CENTRES.map((c) => Math.exp(-settings.gamma * (c - v) ** 2)));
    for (let row = 0; row < GRID; row++) {
      const factor = coefficients[j] * up[GRID - 1 - row];
      if (Math.abs(factor) < 1e-12) continue;
      for (let column = 0; column < GRID; column++) out[row * GRID + column] += factor * across[column];
    }
  });
  return out;
}

/** Stretches of the line where the heights are `level`, by marching squares: pairs of points. */
function contour(F, level) {
  const out = [];
  for (let row = 0; row + 1 < GRID; row++) {
    for (let column = 0; column + 1 < GRID; column++) {
      const at = row * GRID + column;
      const above = (F[at] > level) + (F[at + 1] > level) + (F[at + GRID + 1] > level) + (F[at + GRID] > level);
      if (above === 0 || above === 4) continue;
      const corners = [at, at + 1, at + GRID + 1, at + GRID];
      const ends = [];
      for (let i = 0; i < 4; i++) {
        const [from, to] = [corners[i], corners[(i + 1) % 4]];
        const [a, b] = [F[from] - level, F[to] - level];
        if (a > 0 === b > 0) continue;
        const share = a / (a - b);
        const place = (k) => [CENTRES[k % GRID], CENTRES[GRID - 1 - Math.floor(k / GRID)]];
        const [start, end] = [place(from), place(to)];
        ends.push([start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])]);
      }
      for (let i = 0; i + 1 < ends.length; i += 2) out.push([ends[i], ends[i + 1]]);
    }
  }
  return out;
}

/** Let a kernel learner read the stream; what it held after each example, from none on. */
function grow(model, rows) {
  const run = { models: [{ vectors: [], numbers: [], coefficients: [] }], mistakes: [0], gone: [[]], taus: [] };
  for (const { x, y } of rows) {
    const { gone, tau } = model.learn(x, y);
    const { vectors, numbers, coefficients } = model;
    run.models.push({ vectors: [...vectors], numbers: [...numbers], coefficients: [...coefficients] });
    run.mistakes.push(model.mistakes);
    run.gone.push([...run.gone.at(-1), ...gone]);
    run.taus.push(tau);
  }
  return run;
}

export class SurfacePart {
  constructor(panel, wake, { announce }) {
    Object.assign(this, { panel, announce, state: new State(SURFACE) });
    this.planes = ["left", "right"].map((side) => new Plane(panel.querySelector(`canvas.${side}`), REACH));
    this.image = html("canvas", { width: GRID, height: GRID });
    this.state.listeners.push((changed) => {
      if (changed.some((key) => !["t", "speed"].includes(key))) this.run();
      wake();
    });
    bind(panel, this.state);
    this.run();
    this.player = new Player(panel, this.state, () => this.rows.length, wake);
    panel
      .querySelector(".again")
      .addEventListener("click", () => this.state.set({ seed: (this.state.values.seed % 999) + 1 }));
  }

  run() {
    const { data, n, seed, rule: variant, C, kernel, gamma, budget, policy } = this.state.values;
    this.settings = { kernel, gamma, degree: DEGREE, coef0: 1 };
    this.rows = SHAPES[data](n, new Random(seed));
    this.runs = [
      grow(new KernelPA({ variant, C, ...this.settings }), this.rows),
      grow(new KernelPA({ variant, C, budget, policy, ...this.settings }), this.rows),
    ];
    this.forget();
  }

  forget() {
    this.grown = { vectors: 0, F: new Float64Array(GRID * GRID), scores: new Float64Array(this.rows.length) };
  }

  /** Heights over the grid and scores of the points after t examples. */
  surface(side, t) {
    const { vectors, coefficients } = this.runs[side].models[t];
    const scored = (from, scores) => {
      const k = kernelFunction(this.settings);
      this.rows.forEach(({ x }, i) => {
        for (let j = from; j < vectors.length; j++) scores[i] += coefficients[j] * k(x, vectors[j]);
      });
      return scores;
    };
    if (side === 1) {
      return {
        F: heights(vectors, coefficients, this.settings),
        scores: scored(0, new Float64Array(this.rows.length)),
      };
    }
    // Without a budget vectors only ever join, so the last heights are a start.
    if (vectors.length < this.grown.vectors) this.forget();
    const { vectors: known, F, scores } = this.grown;
    heights(vectors.slice(known), coefficients.slice(known), this.settings, F);
    scored(known, scores);
    this.grown.vectors = vectors.length;
    return this.grown;
  }

  frame(now) {
    const more = this.player.frame(now);
    const { t } = this.player;
    const colors = palette();
    const surfaces = [0, 1].map((side) => this.surface(side, t));
    this.planes.forEach((plane, side) => {
      if (plane.begin()) this.draw(plane, side, t, surfaces, colors);
    });
    this.numbers(t, surfaces, colors);
    return more;
  }

  draw(plane, side, t, surfaces, colors) {
    const c = plane.context;
    this.paint(surfaces[side].F, colors);
    c.imageSmoothingEnabled = true;
    c.drawImage(this.image, 0, 0, plane.size, plane.size);
    if (side === 1 && t > 0) this.trace(plane, contour(surfaces[0].F, 0), colors.other, 3.5);
    this.trace(plane, contour(surfaces[side].F, 0), colors.ink, 2);
    const { numbers } = this.runs[side].models[t];
    const held = new Set(numbers);
    const gone = new Set(this.runs[side].gone[t]);
    const radius = (this.rows.length > 250 ? 2.6 : 3.6) * plane.shrink();
    this.rows.forEach(({ x, y }, i) => {
      plane.point(x, y, colors, { radius, alpha: i < t ? 1 : 0.3 });
      if (gone.has(i)) plane.cross(x, radius + 1.5, colors.muted, 1.6);
      else if (held.has(i)) plane.ring(x, radius + 3, colors.ink, side ? 2 : 1.1);
    });
    if (t > 0) plane.ring(this.rows[t - 1].x, radius + 7, colors.accent, 2.5);
  }

  paint(F, colors) {
    const context = this.image.getContext("2d");
    const image = context.createImageData(GRID, GRID);
    const [plus, minus] = [colors.plus, colors.minus].map(channels);
    for (let i = 0; i < F.length; i++) {
      const color = F[i] > 0 ? plus : minus;
      for (let j = 0; j < 3; j++) image.data[4 * i + j] = color[j];
      image.data[4 * i + 3] = 130 * Math.min(1, Math.abs(F[i]) / 1.3);
    }
    context.putImageData(image, 0, 0);
  }

  trace(plane, pieces, color, width) {
    const c = plane.context;
    c.beginPath();
    for (const [from, to] of pieces) {
      c.moveTo(...plane.at(from));
      c.lineTo(...plane.at(to));
    }
    c.strokeStyle = color;
    c.lineWidth = width;
    c.stroke();
  }

  numbers(t, surfaces, colors) {
    const names = ["no budget", "budget"];
    const body = this.panel.querySelector(".counts tbody");
    if (body.children.length === 0)
      body.append(
        ...names.map(() => html("tr", {}, html("th", { scope: "row" }), ...[0, 1, 2, 3].map(() => html("td")))),
      );
    this.runs.forEach((run, i) => {
      const { scores } = surfaces[i];
      const [name, ...cells] = body.children[i].children;
      name.textContent = names[i];
      const wrong = this.rows.filter(({ y }, row) => scores[row] > 0 !== y > 0).length;
      const values = [run.models[t].vectors.length, run.gone[t].length, run.mistakes[t], wrong];
      cells.forEach((cell, j) => (cell.textContent = values[j]));
    });
    const held = this.runs.map((run) => run.models.slice(0, t + 1).map(({ vectors }, at) => [at, vectors.length]));
    chart(this.panel.querySelector(".held"), {
      x: { name: "examples read", low: 0, high: this.rows.length },
      y: { name: "vectors held", low: 0, high: Math.max(10, this.runs[0].models.at(-1).vectors.length) },
      lines: names.map((name, i) => ({
        name,
        color: i ? colors["PA-II"] : colors.ink,
        dash: i ? "none" : "6 4",
        points: held[i],
      })),
    });
    let same = 0;
    const [{ F: free }, { F: within }] = surfaces;
    for (let i = 0; i < free.length; i++) if (free[i] > 0 === within[i] > 0) same += 1;
    const reading = this.panel.querySelector(".reading");
    const { budget } = this.state.values;
    const gone = this.runs[1].gone[t];
    reading.textContent =
      t === 0
        ? "Nothing has been read yet, so the surface is flat."
        : `With at most ${budget} vectors the answer is the same as without a budget on ` +
          `${percent(same / free.length)} of the square. ${gone.length} vectors were given up on the way.`;
    this.announce(() => reading.textContent);
    this.panel.querySelector(".gamma").disabled = this.settings.kernel === "linear";
  }
}

/** Red, green and blue of a colour written as #rrggbb. */
function channels(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}
