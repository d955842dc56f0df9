// Drawing: colours, numbers as text, elements of SVG, and a square of the plane on a canvas.

/** The pictures of the plane show the square [-REACH, REACH]^2. */
export const REACH = 4;

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. Text is set as text, so nothing in it can become markup. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** An HTML element. */
export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A number for the reader: at most so many decimals, a proper minus, no trailing zeros unless `fixed`. */
export function text(value, decimals = 2, fixed = false) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
  const small = Math.abs(value) > 1e-6 && Math.abs(value) < 0.5 * 10 ** -decimals;
  let shown = Math.abs(value) >= 1e5 || small ? value.toExponential(1) : value.toFixed(decimals);
  if (!fixed && shown.includes(".") && !shown.includes("e")) shown = shown.replace(/\.?0+$/, "");
  return (shown === "-0" ? "0" : shown).replaceAll("-", "−");
}

/** A pair of numbers in brackets. */
export function vector(values, decimals = 2) {
  return `(${values.map((value) => text(value, decimals)).join(", ")})`;
}

export function signed(label) {
  return label > 0 ? "+1" : "−1";
}

export function percent(share) {
  return `${text(100 * share, 1)} %`;
}

const COLORS = [
  "ink",
  "muted",
  "rule",
  "paper",
  "accent",
  "plus",
  "minus",
  "on-plus",
  "plus-edge",
  "PA",
  "PA-I",
  "PA-II",
  "PALS",
  "other",
  "more",
];

/** The page's colours as they are now, light or dark. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLORS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Part of a polygon where inside(point) >= 0, for a linear function `inside`. */
export function clip(polygon, inside) {
  const out = [];
  polygon.forEach((a, i) => {
    const b = polygon[(i + 1) % polygon.length];
    const [at, bt] = [inside(a), inside(b)];
    if (at >= 0) out.push(a);
    if (at >= 0 !== bt >= 0) out.push(a.map((value, j) => value + ((b[j] - value) * at) / (at - bt)));
  });
  return out;
}

/** The stretch of the line where a linear function is 0 that lies in a square of so much reach; [] if none does. */
export function stretch(along, reach) {
  const square = box(reach);
  const ends = [];
  square.forEach((a, i) => {
    const b = square[(i + 1) % 4];
    const [at, bt] = [along(a), along(b)];
    if (at >= 0 !== bt >= 0) ends.push(a.map((value, j) => value + ((b[j] - value) * at) / (at - bt)));
  });
  return ends;
}

export function box(reach) {
  return [
    [-reach, -reach],
    [reach, -reach],
    [reach, reach],
    [-reach, reach],
  ];
}

/** Round steps for an axis from low to high. */
export function ticks(low, high, about = 5) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= raw * 0.999);
  const first = Math.ceil(low / size - 1e-9);
  return Array.from({ length: Math.floor(high / size + 1e-9) - first + 1 }, (_, i) => (first + i) * size);
}

/** A canvas that shows the square [-reach, reach]^2 and keeps sharp on every screen. */
export class Plane {
  constructor(canvas, reach) {
    this.canvas = canvas;
    this.reach = reach;
    this.context = canvas.getContext("2d");
  }

  /** Make the drawing surface as large as the element and clear it; false if it is not on show. */
  begin() {
    const size = this.canvas.clientWidth;
    if (!size) return false;
    const pixels = Math.round(size * (window.devicePixelRatio || 1));
    if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
    this.size = size;
    this.context.setTransform(pixels / size, 0, 0, pixels / size, 0, 0);
    this.context.clearRect(0, 0, size, size);
    return true;
  }

  /** Factor for marks: smaller on a small picture. */
  shrink() {
    return Math.max(0.65, Math.min(1, this.size / 340));
  }

  /** Pixels of a point of the plane. */
  at([a, b]) {
    return [((a + this.reach) / (2 * this.reach)) * this.size, ((this.reach - b) / (2 * this.reach)) * this.size];
  }

  /** The point of the plane under a mouse or finger. */
  from(event) {
    const area = this.canvas.getBoundingClientRect();
    const share = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
    return [(2 * share[0] - 1) * this.reach, (1 - 2 * share[1]) * this.reach];
  }

  path(points, closed) {
    this.context.beginPath();
    points.forEach((point, i) => this.context[i ? "lineTo" : "moveTo"](...this.at(point)));
    if (closed) this.context.closePath();
  }

  /** Tint the two sides of the line where the score w.x + b is 0. */
  sides(w, colors) {
    const score = ([a, b]) => w[0] * a + w[1] * b + w[2];
    if (!w[0] && !w[1] && !w[2]) return;
    for (const [side, color] of [
      [1, colors.plus],
      [-1, colors.minus],
    ]) {
      const area = clip(box(this.reach), (point) => side * score(point));
      if (area.length < 3) continue;
      this.context.globalAlpha = 0.13;
      this.context.fillStyle = color;
      this.path(area, true);
      this.context.fill();
    }
    this.context.globalAlpha = 1;
  }

  /** The line where the score is `level`; false if it lies outside the picture. */
  line(w, color, { width = 2, dash = [], level = 0 } = {}) {
    const ends = stretch(([a, b]) => w[0] * a + w[1] * b + w[2] - level, this.reach);
    if (ends.length < 2) return false;
    this.context.strokeStyle = color;
    this.context.lineWidth = width;
    this.context.setLineDash(dash);
    this.path(ends);
    this.context.stroke();
    this.context.setLineDash([]);
    return true;
  }

  /** A point: a disc for +1 and a square for -1, so that colour is never the only difference. */
  point(x, label, colors, { radius = 5, alpha = 1, wrong = false, hollow = false } = {}) {
    const c = this.context;
    const [a, b] = this.at(x);
    c.globalAlpha = alpha;
    c.beginPath();
    if (label > 0) c.arc(a, b, radius, 0, 2 * Math.PI);
    else c.rect(a - 0.9 * radius, b - 0.9 * radius, 1.8 * radius, 1.8 * radius);
    c.lineWidth = hollow ? 1.5 : 1;
    c.fillStyle = label > 0 ? colors.plus : colors.minus;
    const edge = label > 0 ? colors["plus-edge"] : colors.minus;
    c.strokeStyle = hollow || label > 0 ? edge : colors.paper;
    if (!hollow) c.fill();
    c.stroke();
    if (radius >= 5 && !hollow) {
      c.strokeStyle = label > 0 ? colors["on-plus"] : colors.paper;
      c.lineWidth = 1.5;
      c.beginPath();
      c.moveTo(a - 0.5 * radius, b);
      c.lineTo(a + 0.5 * radius, b);
      if (label > 0) {
        c.moveTo(a, b - 0.5 * radius);
        c.lineTo(a, b + 0.5 * radius);
      }
      c.stroke();
    }
    if (wrong) this.ring(x, radius + 3, colors.ink, 2, Math.max(alpha, 0.6));
    c.globalAlpha = 1;
  }

  ring(x, radius, color, width = 2, alpha = 1) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.beginPath();
    c.arc(...this.at(x), radius, 0, 2 * Math.PI);
    c.stroke();
    c.globalAlpha = 1;
  }

  cross(x, radius, color, width = 1.5) {
    const c = this.context;
    const [a, b] = this.at(x);
    c.strokeStyle = color;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(a - radius, b - radius);
    c.lineTo(a + radius, b + radius);
    c.moveTo(a - radius, b + radius);
    c.lineTo(a + radius, b - radius);
    c.stroke();
  }
}
