// A line chart in SVG, with a name at the end of each line instead of a legend.

import { el, text, ticks } from "./draw.js";

const TOP = 30;
const LEFT = 46;
const BOTTOM = 40;
const GAP = 15; // least distance between two names
const SIZE = 12.5; // size of the text, in pixels, for which these four are made

/** Places for axis marks of a scale. */
function marks({ low, high, log }, about) {
  if (!log) return ticks(low, high, about);
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const within = (factors) =>
    powers.flatMap((p) => factors.map((f) => f * p)).filter((v) => v >= low * 0.999 && v <= high * 1.001);
  const most = within([1, 2, 5]);
  return most.length <= about + 2 ? most : within([1]);
}

/** Move names apart until none covers another. */
function spread(names, low, high, gap) {
  names.sort((a, b) => a.y - b.y);
  for (let i = 1; i < names.length; i++) names[i].y = Math.max(names[i].y, names[i - 1].y + gap);
  if (names.length) names.at(-1).y = Math.min(names.at(-1).y, high);
  for (let i = names.length - 2; i >= 0; i--) names[i].y = Math.min(names[i].y, names[i + 1].y - gap);
  if (names.length) names[0].y = Math.max(names[0].y, low);
}

/**
 * Draw into `svg`. `x` and `y` are `{ name, low, high, log, show }`; a line is `{ name, color, dash, points }` with
 * points `[x, y, low, high]`, the last two for a band. `level` lines run across at one height. `guide` is an x to mark.
 * Returns the places on the screen: `{ px, py, left, right, top, bottom }`.
 */
export function chart(svg, { x, y, lines, guide, dots = false, named = true }) {
  const width = svg.clientWidth;
  const height = svg.clientHeight;
  if (!width || !height) return null;
  const em = parseFloat(getComputedStyle(svg).fontSize) / SIZE; // text grows on a wide screen
  const [top, start] = [TOP * em, LEFT * em];
  const longest = Math.max(0, ...lines.map((line) => line.name.length));
  const right = width - (named ? Math.min(0.42 * width, 22 + 7.7 * em * longest) : 20 * em);
  const bottom = height - BOTTOM * em;
  const scale = (value) => (x.log ? Math.log10(value) : value);
  const px = (v) => start + ((scale(v) - scale(x.low)) / (scale(x.high) - scale(x.low) || 1)) * (right - start);
  const py = (v) => bottom - ((v - y.low) / (y.high - y.low || 1)) * (bottom - top);
  const parts = [];
  for (const value of marks(y, Math.max(3, Math.round(height / (48 * em))))) {
    parts.push(el("line", { class: "grid", x1: start, x2: right, y1: py(value), y2: py(value) }));
    const look = { class: "mark", x: start - 7, y: py(value), dy: "0.35em", "text-anchor": "end" };
    parts.push(el("text", look, (y.show ?? text)(value)));
  }
  for (const value of marks(x, Math.max(3, Math.round(width / (95 * em))))) {
    parts.push(el("line", { class: "tick", x1: px(value), x2: px(value), y1: bottom, y2: bottom + 4 }));
    const look = { class: "mark", x: px(value), y: bottom + 17 * em, "text-anchor": "middle" };
    parts.push(el("text", look, (x.show ?? text)(value)));
  }
  parts.push(el("line", { class: "axis", x1: start, x2: right, y1: bottom, y2: bottom }));
  const under = { class: "axis-name", x: (start + right) / 2, y: height - 5, "text-anchor": "middle" };
  parts.push(el("text", under, x.name));
  parts.push(el("text", { class: "axis-name", x: 4, y: 15 * em }, y.name));
  const names = [];
  for (const line of lines) {
    if (!line.points.length) continue;
    const place = (point, j = 1) =>
      `${px(point[0]).toFixed(1)},${Math.max(top, Math.min(bottom, py(point[j]))).toFixed(1)}`;
    if (line.points.length > 1 && line.points[0].length > 2) {
      const band = [...line.points.map((p) => place(p, 2)), ...line.points.toReversed().map((p) => place(p, 3))];
      parts.push(el("polygon", { points: band.join(" "), fill: line.color, class: "band" }));
    }
    const look = {
      points: line.points.map((p) => place(p)).join(" "),
      stroke: line.color,
      "stroke-dasharray": line.dash ?? "none",
      class: "line",
    };
    parts.push(el("polyline", look));
    const last = line.points.at(-1);
    if (dots || line.points.length === 1) {
      for (const p of line.points) parts.push(el("circle", { cx: px(p[0]), cy: py(p[1]), r: 3.2, fill: line.color }));
    }
    if (named) names.push({ line, y: py(last[1]), from: [px(last[0]), py(last[1])] });
  }
  spread(names, top, bottom - 0.4 * GAP * em, GAP * em);
  for (const name of names) {
    const [fx, fy] = name.from;
    parts.push(el("path", { d: `M${fx + 4},${fy} L${fx + 10},${name.y}`, class: "lead", stroke: name.line.color }));
    const look = { class: "name halo", x: fx + 13, y: name.y, dy: "0.35em", fill: name.line.color };
    parts.push(el("text", look, name.line.name));
  }
  if (guide !== undefined)
    parts.push(el("line", { class: "guide", x1: px(guide), x2: px(guide), y1: top, y2: bottom }));
  svg.replaceChildren(...parts);
  return { px, py, left: start, right, top, bottom };
}

/** Looks of the study's figures: colour by name of the palette, and dashes that repeat the difference. */
export const LOOKS = {
  PA: ["PA", "none"],
  "PA-I": ["PA-I", "none"],
  "PA-II": ["PA-II", "none"],
  PALS: ["PALS", "none"],
  LIBLINEAR: ["ink", "6 4"],
  margin: ["PA-I", "none"],
  random: ["PALS", "6 3"],
  first: ["PA-II", "8 3 2 3"],
  threshold: ["more", "3 3"],
  all: ["ink", "none"],
  projection: ["PA-II", "none"],
  nearest: ["more", "7 4"],
  removal: ["PA", "8 3 2 3"],
  oldest: ["other", "2 3"],
  smallest: ["PALS", "5 3"],
  landmarks: ["PA-I", "none"],
  "landmark features": ["PA", "7 4"],
  "random Fourier": ["ink", "2 3"],
  Nyström: ["ink", "7 4"],
};
