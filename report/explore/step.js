// Part 1: one example, one step, seen in the space of the weights and in the plane of the data.

import { bind } from "./controls.js";
import { REACH, box, clip, el, html, palette, signed, stretch, text, ticks, vector } from "./draw.js";
import { VARIANTS, direction, lossOf, step } from "./rules.js";
import { State, choice, number, pair, some } from "./state.js";

const SCALES = [1, 2, 4, 8, 16, 40, 100, 400, 1000, 4000, 1e4, 1e5, 1e6];

export const STEP = {
  w: pair([0.3, 0.3], -5, 5),
  x: pair([1, 2], -REACH, REACH),
  y: choice(-1, [1, -1]), // a wrong label: the boundary of PA swings at once
  C: number(0.1, 0.001, 100),
  intercept: choice("none", ["none", "counted", "left out"]),
  rules: some(["PA", "PA-I"], VARIANTS),
};

/** What every rule would do with the example: pure arithmetic, as in the worked example of the article. */
export function steps({ w, x: given, y, C, intercept }) {
  const x = intercept === "none" ? given : [given[0], 1];
  const p = w[0] * x[0] + w[1] * x[1];
  const sqnorm = x[0] * x[0] + (intercept === "left out" ? 0 : x[1] * x[1]);
  const rules = VARIANTS.map((rule) => {
    const loss = lossOf(rule, y, p);
    const tau = step(rule, loss, sqnorm, C);
    const move = tau * direction(rule, y, p);
    const after = [w[0] + move * x[0], w[1] + move * x[1]];
    return { rule, loss, tau, after, margin: y * (after[0] * x[0] + after[1] * x[1]) };
  });
  return { x, p, sqnorm, rules };
}

export class StepPart {
  constructor(panel, wake, { toy, announce }) {
    this.state = new State(STEP);
    this.panel = panel;
    this.points = toy;
    this.announce = announce;
    this.weights = panel.querySelector(".weights");
    this.data = panel.querySelector(".data");
    this.scale = 1;
    bind(panel, this.state, { y: signed });
    this.state.listeners.push(wake);
    panel.querySelector(".flip").addEventListener("click", () => this.flip());
    this.handle = {
      w: this.movable(this.weights, "w", 0.02, (event) => this.place(event, this.weights, this.scale, 0.02)),
      x: this.movable(this.data, "x", 0.05, (event) => this.dataPlace(event)),
    };
    this.rows = Object.fromEntries(VARIANTS.map((rule) => [rule, this.row(rule)]));
    panel.querySelector(".rules tbody").append(...Object.values(this.rows).map(({ row }) => row));
    panel.querySelector(".worked tbody").append(...Object.values(this.rows).map(({ sum }) => sum));
  }

  flip() {
    this.state.set({ y: -this.state.values.y });
  }

  /** A handle that mouse, finger and arrow keys move; it sets the pair of values `key`. */
  movable(svg, key, grain, find) {
    const handle = el("g", {
      class: `handle ${key}`,
      tabindex: 0,
      role: "button",
      "aria-roledescription": "movable point",
    });
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      this.dragging = key;
    });
    handle.addEventListener("pointermove", (event) => {
      if (this.dragging === key) this.state.set({ [key]: find(event) });
    });
    const drop = () => {
      this.dragging = undefined;
      this.state.listeners.forEach((listener) => listener([key]));
    };
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      const flips = event.key === "Enter" || event.key === " ";
      if (!by && !flips) return;
      event.preventDefault();
      if (flips) {
        this.flip();
        return;
      }
      const size = event.shiftKey ? grain / 2 : 2 * grain;
      const high = STEP[key].high;
      const next = this.state.values[key].map((v, i) => Math.max(-high, Math.min(high, rounded(v + size * by[i]))));
      this.state.set({ [key]: next });
    });
    svg.append(el("g", { class: "drawing" }), handle);
    return handle;
  }

  place(event, svg, reach, grain) {
    const area = svg.getBoundingClientRect();
    const share = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
    const found = [(2 * share[0] - 1) * reach, (1 - 2 * share[1]) * reach];
    const limit = Math.min(reach, 5);
    return found.map((v) => rounded(Math.max(-limit, Math.min(limit, Math.round(v / grain) * grain))));
  }

  dataPlace(event) {
    const found = this.place(event, this.data, REACH, 0.05).map((v) => Math.max(-REACH, Math.min(REACH, v)));
    return this.state.values.intercept === "none" ? found : [found[0], this.state.values.x[1]];
  }

  row(rule) {
    const mark = html("th", { scope: "row" });
    mark.append(marker(rule), rule);
    const cells = ["tau", "after", "margin", "wrong"].map((name) => html("td", { class: name }));
    const button = html("button", { type: "button", class: "small" }, "take");
    button.setAttribute("aria-label", `Take the step of ${rule}`);
    button.addEventListener("click", () => {
      const { after } = steps(this.state.values).rules.find((each) => each.rule === rule);
      this.state.set({ w: after.map((v) => rounded(Math.max(-5, Math.min(5, v)))) });
    });
    const step = html("td");
    const sum = html("tr", {}, html("th", { scope: "row" }, html("i", {}, "τ"), ` of ${rule}`), step);
    return { row: html("tr", {}, mark, ...cells, html("td", {}, button)), cells, sum, step };
  }

  /** The points that the weights put on the wrong side; a score of 0 counts as -1. */
  missed(w) {
    const flat = this.state.values.intercept === "none";
    return this.points.filter(([a, b, y]) => w[0] * a + w[1] * (flat ? b : 1) > 0 !== y > 0);
  }

  wrong(w) {
    return this.missed(w).length;
  }

  frame() {
    const now = { ...this.state.values, ...steps(this.state.values) };
    now.shown = now.rules.filter(({ rule }) => this.state.values.rules.includes(rule));
    now.colors = palette();
    if (this.dragging !== "w") {
      const far = Math.max(...[now.w, ...now.shown.map(({ after }) => after)].flat().map(Math.abs));
      this.scale = SCALES.find((scale) => scale > 1.12 * far) ?? SCALES.at(-1);
    }
    this.panel.classList.toggle("one-feature", now.intercept !== "none");
    this.numbers(now);
    this.drawWeights(now);
    this.drawData(now);
    return false;
  }

  // ------------------------------------------------------------ numbers

  numbers({ w, x, y, C, p, sqnorm, intercept, shown, rules }) {
    const show = (name, value) => (this.panel.querySelector(`[data-out="${name}"]`).textContent = value);
    const factor = (v) => (v < 0 ? `(${text(v)})` : text(v));
    show("score", `${factor(w[0])}·${factor(x[0])} + ${factor(w[1])}·${factor(x[1])} = ${text(p)}`);
    const hinge = rules[0].loss;
    show("loss", `max(0, 1 − ${y < 0 ? "(−1)" : "1"}·${factor(p)}) = ${text(hinge)}`);
    const squares = intercept === "left out" ? `${factor(x[0])}²` : `${factor(x[0])}² + ${factor(x[1])}²`;
    show("sqnorm", `${squares} = ${text(sqnorm)}`);
    for (const { rule, loss, tau, after, margin } of rules) {
      const { row, cells, sum, step } = this.rows[rule];
      row.hidden = sum.hidden = !shown.some((each) => each.rule === rule);
      step.textContent = `${formula(rule, loss, sqnorm, C)} = ${text(tau, 3)}`;
      const [first, second, third, fourth] = cells;
      first.textContent = text(tau, 3);
      second.textContent = vector(after);
      third.textContent = text(margin);
      fourth.textContent = this.wrong(after);
    }
    show("before", this.wrong(w));
    show("reading", this.reading({ shown, w, C, intercept, rules }));
    this.announce(() => this.panel.querySelector('[data-out="reading"]').textContent);
    this.need(rules[0].tau);
    const example = this.state.values.x;
    const keys = "Arrow keys move, Enter flips the label.";
    this.handle.w.setAttribute("aria-label", `Weights ${vector(w)}. ${keys}`);
    this.handle.x.setAttribute(
      "aria-label",
      `Example ${vector(intercept === "none" ? example : x)} with label ${signed(y)}. ${keys}`,
    );
    const button = this.panel.querySelector(".flip");
    button.querySelector("span").textContent = `now ${signed(y)}`;
  }

  /** Mark on the slider the C from which PA-I takes the step of PA. */
  need(tau) {
    const { low, high } = STEP.C;
    const mark = this.panel.querySelector(".need");
    mark.hidden = !(tau > low && tau < high);
    mark.textContent = `PA ${text(tau, 3)}`;
    mark.style.setProperty("--share", Math.log(tau / low) / Math.log(high / low));
  }

  reading({ shown, w, C, intercept, rules }) {
    const overshoot = shown.filter(({ margin }) => margin > 1 + 1e-9);
    if (intercept === "left out" && rules[0].loss > 0 && overshoot.length) {
      return (
        `The step is too long: ${join(overshoot.map(({ rule }) => rule))} ends at a margin of ` +
        `${text(overshoot[0].margin)} instead of 1, because the intercept moves but was not counted in ‖x‖².`
      );
    }
    const still = shown.filter(({ tau }) => tau < 1e-6); // less is rounding
    if (still.length === shown.length)
      return "The margin is already 1 or more, so the loss is 0 and the weights stay where they are: passive.";
    const [pa, pa1] = ["PA", "PA-I"].map((name) => shown.find(({ rule }) => rule === name));
    const need = pa && pa1 ? text(pa.tau, 3) : "";
    let why = "";
    if (need && C < pa.tau) why = `This label needs τ = ${need}: PA takes it, PA-I stops at C = ${text(C, 3)}. `;
    if (need && C > pa.tau) why = `C exceeds ${need}, so PA-I = PA. `;
    const [first, ...others] = shown.map(({ rule, after }) => [rule, this.wrong(after)]);
    const harm = [`${first[0]} gets ${first[1]} wrong`, ...others.map((each) => each.join(" "))];
    return `${why}Of ${this.points.length} pale points ${join(harm)}. Before the step it was ${this.wrong(w)}.`;
  }

  // ------------------------------------------------------------ the space of the weights

  drawWeights({ w, x, y, shown, intercept, colors }) {
    const { at, size, drawing } = frameOf(this.weights, this.scale);
    if (!size) return;
    const parts = [...axes(at, this.scale, "w₁", intercept === "none" ? "w₂" : "intercept b")];
    const free = clip(box(this.scale), (v) => y * (v[0] * x[0] + v[1] * x[1]) - 1);
    if (free.length > 2) {
      parts.push(el("polygon", { class: "free", points: free.map(at).join(" ") }));
      const centre = at([0, 1].map((j) => free.reduce((sum, v) => sum + v[j], 0) / free.length));
      const inside = centre.map((v) => Math.max(34, Math.min(size - 34, v)));
      parts.push(el("text", { class: "region", x: inside[0], y: inside[1], "text-anchor": "middle" }, "loss 0"));
    }
    const edge = stretch((v) => y * (v[0] * x[0] + v[1] * x[1]) - 1, this.scale).map(at);
    if (edge.length === 2) parts.push(line("edge", edge));
    const from = at(w);
    const moving = shown.filter(({ tau }) => tau > 0);
    moving.forEach(({ rule, after }, i) => {
      const to = at(after);
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
      if (length < 3) return;
      const across = [-(to[1] - from[1]) / length, (to[0] - from[0]) / length];
      const lane = 6 * (i - (moving.length - 1) / 2); // arrows side by side, or they would hide each other
      const ends = [from, to].map((end) => [end[0] + lane * across[0], end[1] + lane * across[1]]);
      parts.push(el("path", { class: "move", d: `M${ends.join(" L")}`, stroke: colors[rule] }));
    });
    // Rules that land on the same place share a name.
    const groups = [];
    for (const { rule, after } of shown) {
      const to = at(after);
      const near = groups.find((group) => Math.hypot(group.to[0] - to[0], group.to[1] - to[1]) < 9);
      if (near) near.rules.push(rule);
      else groups.push({ to, rules: [rule] });
    }
    groups.sort((a, b) => b.to[1] - a.to[1]);
    groups.forEach((group, i) => {
      const side = (i % 2 ? -1 : 1) * (x[1] >= 0 ? 1 : -1);
      const length = Math.hypot(...x) || 1;
      const off = [(side * x[1]) / length, (side * x[0]) / length];
      const to = [group.to[0] + 18 * off[0], group.to[1] + 18 * off[1]];
      parts.push(...group.rules.map((rule) => marker(rule, group.to, colors[rule])));
      if (Math.hypot(group.to[0] - from[0], group.to[1] - from[1]) < 9) return;
      const anchor = off[0] > 0.4 ? "start" : off[0] < -0.4 ? "end" : "middle";
      parts.push(
        el(
          "text",
          { class: "name halo", x: to[0], y: to[1] + 5, "text-anchor": anchor, fill: colors[group.rules[0]] },
          group.rules.join(", "),
        ),
      );
    });
    drawing.replaceChildren(...parts);
    const length = Math.hypot(...x) || 1;
    // The name of w stays out of the way of the step.
    const back = [(-18 * y * x[0]) / length, (18 * y * x[1]) / length];
    put(
      this.handle.w,
      from,
      el("circle", { r: 22, class: "grip" }),
      el("circle", { r: 8, class: "weights-now" }),
      el(
        "text",
        { class: "name halo", x: back[0], y: back[1] + 4, "text-anchor": back[0] < 0 ? "end" : "start" },
        "w",
      ),
    );
  }

  // ------------------------------------------------------------ the plane of the data

  /** A ring of each rule's colour around every point that it gets wrong. */
  rings(shown, place, colors) {
    return shown.flatMap(({ rule, after }, i) =>
      this.missed(after).map((point) => {
        const [cx, cy] = place(point);
        return el("circle", { class: "miss", "data-rule": rule, cx, cy, r: 8 + 3 * i, stroke: colors[rule] });
      }),
    );
  }

  drawData(now) {
    if (now.intercept === "none") this.drawPlane(now);
    else this.drawScores(now);
  }

  drawPlane({ w, x, y, shown, colors }) {
    const { at, size, drawing } = frameOf(this.data, REACH);
    if (!size) return;
    const parts = [...axes(at, REACH, "x₁", "x₂")];
    parts.push(...this.rings(shown, ([a, b]) => at([a, b]), colors));
    for (const [a, b, label] of this.points) parts.push(dot(at([a, b]), label, "pale"));
    parts.push(...divider(w, at, "before", colors.ink, 2, -0.88));
    const upper = stretch(([a, b]) => w[0] * a + w[1] * b, REACH).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    if (upper.length) {
      const [a, b] = at(upper[0].map((v) => 0.84 * v));
      parts.push(
        el(
          "text",
          {
            class: "name halo",
            x: a + (a < size / 2 ? 10 : -10),
            y: b - 4,
            "text-anchor": a < size / 2 ? "start" : "end",
          },
          "before",
        ),
      );
    }
    const moved = shown.filter(({ tau }) => tau > 0);
    // Wide lines below narrow ones: where two coincide, both are seen.
    for (const [i, { rule, after }] of [...moved.entries()].reverse()) {
      parts.push(...divider(after, at, "after", colors[rule], widthOf(moved, i), 0.84 - 0.1 * i));
    }
    parts.push(...namesOf(moved, at, colors));
    drawing.replaceChildren(...parts);
    put(
      this.handle.x,
      at(x),
      el("circle", { r: 22, class: "grip" }),
      dot([0, 0], y, "example"),
      el("text", { class: "name halo", x: 15, y: -11 }, `x, label ${signed(y)}`),
    );
  }

  /** With one feature and an intercept: the score as a function of the feature. */
  drawScores({ w, x, y, shown, colors }) {
    const { at, size, drawing } = frameOf(this.data, REACH);
    if (!size) return;
    const parts = [...axes(at, REACH, "x", "score p")];
    for (const level of [1, -1]) parts.push(line("level", [at([-REACH, level]), at([REACH, level])]));
    parts.push(...this.rings(shown, ([a, , label]) => at([a, label]), colors));
    for (const [a, , label] of this.points) parts.push(dot(at([a, label]), label, "pale"));
    const score = (v, color, kind, width = 2) => {
      const ends = stretch(([a, p]) => v[0] * a + v[1] - p, REACH).map(at);
      return ends.length === 2
        ? [el("path", { class: kind, d: `M${ends.join(" L")}`, stroke: color, "stroke-width": width })]
        : [];
    };
    parts.push(...score(w, colors.ink, "before"));
    const moved = shown.filter(({ tau }) => tau > 0);
    for (const [i, { rule, after }] of [...moved.entries()].reverse())
      parts.push(...score(after, colors[rule], "after", widthOf(moved, i)));
    for (const { rule, after, tau } of shown) {
      if (tau > 0) parts.push(marker(rule, at([x[0], after[0] * x[0] + after[1]]), colors[rule]));
    }
    drawing.replaceChildren(...parts);
    put(
      this.handle.x,
      at([x[0], y]),
      el("circle", { r: 22, class: "grip" }),
      dot([0, 0], y, "example"),
      el("text", { class: "name halo", x: 15, y: -11 }, `x, label ${signed(y)}`),
    );
  }
}

function rounded(value) {
  return Number(value.toFixed(6));
}

function formula(rule, loss, sqnorm, C) {
  const quotient = `${text(loss)} / ${text(sqnorm)}`;
  if (rule === "PA") return quotient;
  if (rule === "PA-I") return `min(${text(C, 3)}, ${quotient})`;
  return `${text(loss)} / (${text(sqnorm)} + ${text(0.5 / C)})`;
}

function join(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Places on the screen for a square drawing, and the group that it goes into. */
function frameOf(svg, reach) {
  const size = svg.clientWidth;
  const at = ([a, b]) => [((a + reach) / (2 * reach)) * size, ((reach - b) / (2 * reach)) * size];
  return { at, size, drawing: svg.querySelector(".drawing") };
}

function axes(at, reach, first, second) {
  const parts = [];
  for (const value of ticks(-reach, reach, 6)) {
    const zero = Math.abs(value) < 1e-9 * reach;
    parts.push(line(zero ? "axis" : "grid", [at([value, -reach]), at([value, reach])]));
    parts.push(line(zero ? "axis" : "grid", [at([-reach, value]), at([reach, value])]));
    if (zero || Math.abs(value) > 0.93 * reach) continue;
    const [a, b] = at([value, 0]);
    const [c, d] = at([0, value]);
    parts.push(el("text", { class: "mark", x: a, y: b, dy: "1.15em", "text-anchor": "middle" }, text(value)));
    parts.push(el("text", { class: "mark", x: c - 5, y: d, dy: "0.35em", "text-anchor": "end" }, text(value)));
  }
  const [a, b] = at([reach, 0]);
  const [c, d] = at([0, reach]);
  parts.push(el("text", { class: "axis-name", x: a - 5, y: b - 7, "text-anchor": "end" }, first));
  parts.push(el("text", { class: "axis-name", x: c + 7, y: d, dy: "1.15em" }, second));
  return parts;
}

function line(kind, [from, to]) {
  return el("line", { class: kind, x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
}

/** The line where the score is 0, with + and − at its sides, `far` of the way up, or down if negative. */
function divider(w, at, kind, color, width, far) {
  const length = Math.hypot(...w);
  const ends = stretch(([a, b]) => w[0] * a + w[1] * b, REACH);
  if (length === 0 || ends.length < 2) return [];
  const parts = [el("path", { class: kind, d: `M${ends.map(at).join(" L")}`, stroke: color, "stroke-width": width })];
  const [a, b] = at(ends.sort((one, other) => other[1] - one[1])[0].map((v) => far * v));
  for (const [sign, away] of [
    ["+", 13],
    ["−", -13],
  ]) {
    const [x, y] = [a + (away * w[0]) / length, b - (away * w[1]) / length];
    parts.push(el("text", { class: "side halo", x, y, dy: "0.35em", "text-anchor": "middle", fill: color }, sign));
  }
  return parts;
}

/** Width of a line: 3 pixels, and more for each line before it that it coincides with. */
function widthOf(moved, i) {
  const { after } = moved[i];
  const same = ({ after: other }) => Math.hypot(after[0] - other[0], after[1] - other[1]) < 0.02 * Math.hypot(...after);
  return 3 + 4 * moved.slice(0, i).filter(same).length;
}

/** Names at the ends of dividing lines; lines that end close together share one. */
function namesOf(moved, at, colors) {
  const groups = [];
  for (const { rule, after } of moved) {
    const ends = stretch(([a, b]) => after[0] * a + after[1] * b, REACH);
    if (ends.length < 2) continue;
    const place = at((ends[0][1] < ends[1][1] ? ends[0] : ends[1]).map((v) => 0.72 * v));
    const near = groups.find((group) => Math.hypot(group.place[0] - place[0], group.place[1] - place[1]) < 30);
    if (near) near.rules.push(rule);
    else groups.push({ place, rules: [rule] });
  }
  return groups.map(({ place: [a, b], rules }) => {
    const room = 14 + 10 * rules.join(", ").length;
    const side = (a > at([0, 0])[0] || a < room) && a + room < 2 * at([0, 0])[0] ? 1 : -1;
    const look = {
      class: "name halo",
      x: a + 12 * side,
      y: b - 4,
      "text-anchor": side > 0 ? "start" : "end",
      fill: colors[rules[0]],
    };
    return el("text", look, rules.join(", "));
  });
}

function dot([a, b], label, kind) {
  const big = kind === "example";
  const radius = big ? 10 : 4.5;
  const side = label > 0 ? "plus" : "minus";
  const parts =
    label > 0
      ? [el("circle", { cx: a, cy: b, r: radius })]
      : [el("rect", { x: a - 0.9 * radius, y: b - 0.9 * radius, width: 1.8 * radius, height: 1.8 * radius })];
  if (big)
    parts.push(el("path", { class: "sign", d: `M${a - 5},${b} h10` + (label > 0 ? ` M${a},${b - 5} v10` : "") }));
  return el("g", { class: `dot ${side} ${kind}` }, ...parts);
}

/** The mark of a rule: disc, square, triangle or diamond, as in the study's figures. */
export function marker(rule, [a, b] = [8, 8], color = undefined) {
  const shapes = {
    PA: () => el("circle", { cx: a, cy: b, r: 5.5 }),
    "PA-I": () => el("rect", { x: a - 5, y: b - 5, width: 10, height: 10 }),
    "PA-II": () => el("path", { d: `M${a},${b - 6.5} l6,11 h-12 z` }),
    PALS: () => el("path", { d: `M${a},${b - 6.5} l6.5,6.5 l-6.5,6.5 l-6.5,-6.5 z` }),
  };
  const shape = shapes[rule]();
  shape.setAttribute("class", `marker ${rule}`);
  if (color) {
    shape.setAttribute("fill", color);
    return shape;
  }
  return el("svg", { class: "key", width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, shape);
}

function put(handle, [a, b], ...parts) {
  handle.setAttribute("transform", `translate(${a} ${b})`);
  handle.replaceChildren(...parts);
}
