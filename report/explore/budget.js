// What to do when one more vector would be too many: pa_lab/budget.py for two classes.
//
// K kernel values among the vectors held, Q its inverse, a coefficients, t the new example, r the vector given up.
// k_t are the kernel values of t with the vectors and k_tt that with itself.

import { step, stepCost } from "./rules.js";

/** A vector closer than this (squared, relative) to the span of others counts as in it. */
export const DEPENDENT = 1e-10;

/** The vector nearest to one with kernel values k_r, other than r; -1 if there is none. */
function nearestTo(K, k_r, r) {
  let best = Infinity;
  let found = -1;
  for (let j = 0; j < K.length; j++) {
    const distance = K[j][j] - 2 * k_r[j];
    if (j !== r && distance < best) [best, found] = [distance, j];
  }
  return found;
}

/** Index of the first least value. */
function leastOf(values) {
  return values.reduce((least, value, j) => (value < values[least] ? j : least), 0);
}

/** A budget: `take` lets an example in that moved the model, and returns the places of the vectors given up. */
class Keeper {
  constructor(model) {
    this.model = model;
    this.K = [];
  }

  take(example) {
    const { model, K } = this;
    const k_t = model.vectors.map((s) => model.k(example.x, s));
    const k_tt = model.k(example.x, example.x);
    if (model.vectors.length < model.budget) {
      for (let j = 0; j < k_t.length; j++) K[j].push(k_t[j]);
      K.push([...k_t, k_tt]);
      model.append(example);
      this.entered(model.vectors.length - 1);
      return [];
    }
    const r = this.giveUp(example, k_t, k_tt);
    if (r < 0) return [example.number];
    const gone = model.numbers[r];
    for (let j = 0; j < k_t.length; j++) K[r][j] = K[j][r] = k_t[j];
    K[r][r] = k_tt;
    model.vectors[r] = example.x;
    model.numbers[r] = example.number;
    model.coefficients[r] = example.move;
    this.entered(r);
    return [gone];
  }

  /** Choose the place r that the example takes, or -1 for none, and change coefficients and example.move to suit. */
  giveUp() {
    throw new Error("a policy says which vector goes");
  }

  /** Called after an example came to place r. */
  entered() {}
}

/** The vector that came first goes. */
class Oldest extends Keeper {
  giveUp() {
    return leastOf(this.model.numbers);
  }
}

/** The vector with the least coefficient goes. */
class Smallest extends Keeper {
  giveUp() {
    return leastOf(this.model.coefficients.map((a) => a * a));
  }
}

/** Wang and Vucetic's "removal": the example alone makes up for the vector that goes. */
class Removal extends Keeper {
  near = null;

  giveUp(example, k_t, k_tt) {
    const { K, near } = this;
    const { variant, C, coefficients: a } = this.model;
    let r = -1;
    let lost = Infinity;
    for (let j = 0; j < K.length; j++) {
      const loses = a[j] * a[j] * this.ontoPair(k_t, k_tt, j, near ? near[j] : -1).distance;
      if (loses < lost) [r, lost] = [j, loses];
    }
    const beside = near ? nearestTo(K, k_t, -1) : -1; // where the step goes if t itself is given up
    const q = near ? (k_t[beside] * k_t[beside]) / K[beside][beside] : 0;
    if (stepCost(variant, example.loss, q, C) < stepCost(variant, example.loss, k_tt, C) + 0.5 * lost) {
      const shorter = step(variant, example.loss, q, C) / step(variant, example.loss, k_tt, C);
      if (near) a[beside] += (example.move * shorter * k_t[beside]) / K[beside][beside];
      else this.model.updates -= 1;
      return -1;
    }
    const { onT, onJ } = this.ontoPair(k_t, k_tt, r, near ? near[r] : -1);
    example.move += a[r] * onT;
    if (near && near[r] >= 0) a[near[r]] += a[r] * onJ;
    return r;
  }

  /** Projection of k_r on the span of t and vector j (or of t alone), and the squared distance to it. */
  ontoPair(k_t, k_tt, r, j) {
    const { K } = this;
    const det = j >= 0 ? k_tt * K[j][j] - k_t[j] * k_t[j] : 0;
    if (j < 0 || det <= DEPENDENT * k_tt * K[j][j]) {
      return { onT: k_t[r] / k_tt, onJ: 0, distance: Math.max(0, K[r][r] - (k_t[r] * k_t[r]) / k_tt) };
    }
    const onT = (K[j][j] * k_t[r] - k_t[j] * K[r][j]) / det;
    const onJ = (k_tt * K[r][j] - k_t[j] * k_t[r]) / det;
    return { onT, onJ, distance: Math.max(0, K[r][r] - onT * k_t[r] - onJ * K[r][j]) };
  }
}

/** "Nearest": the example and the nearest other vector make up for the one that goes. */
class Nearest extends Removal {
  near = [];

  entered(r) {
    const { K, near } = this;
    if (K.length < this.model.budget) return;
    for (let j = 0; j < K.length; j++) {
      const before = near[j] ?? -1;
      if (j === r || before === r || before < 0) near[j] = nearestTo(K, K[j], j);
      else if (K[r][r] - 2 * K[j][r] < K[before][before] - 2 * K[j][before]) near[j] = r;
    }
  }
}

/** "Projection": all vectors but the one that goes make up for it. */
class Projection extends Keeper {
  exchanges = 0; // how many more exchanges the inverse is good for

  take(example) {
    const { vectors, budget } = this.model;
    const folded = vectors.length === budget && this.exchanges === 0 ? this.invert() : [];
    return [...folded, ...super.take(example)];
  }

  giveUp(example, k_t, k_tt) {
    const { Q } = this;
    const { variant, C, coefficients: a } = this.model;
    const v = Q.map((row) => row.reduce((sum, value, j) => sum + value * k_t[j], 0));
    const s = v.reduce((left, value, j) => left - k_t[j] * value, k_tt); // squared distance of k_t to the span
    const spanned = s <= DEPENDENT * k_tt;
    const losses = spanned ? [] : a.map((value, j) => (value * value) / (Q[j][j] + (v[j] * v[j]) / s));
    const r = spanned ? 0 : leastOf(losses);
    const q = k_tt - Math.max(s, 0);
    if (spanned || stepCost(variant, example.loss, q, C) < stepCost(variant, example.loss, k_tt, C) + 0.5 * losses[r]) {
      const shorter = step(variant, example.loss, q, C) / step(variant, example.loss, k_tt, C);
      for (let j = 0; j < a.length; j++) a[j] += example.move * shorter * v[j];
      return -1;
    }
    const c = Q.map((row, j) => row[r] + (v[j] * v[r]) / s); // column r of the inverse once t has joined
    const c_t = -v[r] / s;
    const c_r = c[r];
    for (let j = 0; j < a.length; j++) if (j !== r) a[j] -= (a[r] * c[j]) / c_r;
    example.move -= (a[r] * c_t) / c_r;
    for (let i = 0; i < a.length; i++) {
      for (let j = 0; j < a.length; j++) Q[i][j] += (v[i] / s) * v[j] - (c[i] / c_r) * c[j];
    }
    for (let j = 0; j < a.length; j++) Q[r][j] = Q[j][r] = -v[j] / s - (c_t * c[j]) / c_r;
    Q[r][r] = 1 / s - (c_t * c_t) / c_r;
    this.exchanges -= 1;
    return r;
  }

  /** Make Q anew. Vectors that others span are first folded into these, which changes nothing but frees places. */
  invert() {
    const { model, K } = this;
    const { L, keep } = pivotedCholesky(K, DEPENDENT);
    if (keep.length === K.length) {
      this.Q = K.map(() => new Array(K.length));
      for (let i = 0; i < K.length; i++) {
        const column = choleskySolve(
          L,
          keep.map((_, row) => (row === i ? 1 : 0)),
        );
        for (let j = 0; j < K.length; j++) this.Q[keep[j]][keep[i]] = column[j];
      }
      this.exchanges = K.length;
      return [];
    }
    const gone = K.map((_, j) => j).filter((j) => !keep.includes(j));
    const a = keep.map((j) => model.coefficients[j]);
    for (const j of gone) {
      const shares = choleskySolve(
        L,
        keep.map((i) => K[i][j]),
      );
      for (let i = 0; i < a.length; i++) a[i] += model.coefficients[j] * shares[i];
    }
    const numbers = gone.map((j) => model.numbers[j]);
    this.K = keep.map((i) => keep.map((j) => K[i][j]));
    model.vectors = keep.map((j) => model.vectors[j]);
    model.numbers = keep.map((j) => model.numbers[j]);
    model.coefficients = a;
    return numbers;
  }
}

/** Lower factor L of the part of K that is regular to a relative tolerance, and the rows `keep` that make it up. */
function pivotedCholesky(K, tolerance) {
  const n = K.length;
  const keep = K.map((_, j) => j);
  const rest = K.map((row, j) => row[j]); // squared distance of each vector to the span of those before
  const least = tolerance * Math.max(...rest);
  const L = [];
  for (let m = 0; m < n; m++) {
    let pivot = m;
    for (let j = m + 1; j < n; j++) if (rest[keep[j]] > rest[keep[pivot]]) pivot = j;
    if (!(rest[keep[pivot]] > least)) break;
    [keep[m], keep[pivot]] = [keep[pivot], keep[m]];
    const root = Math.sqrt(rest[keep[m]]);
    for (let j = m; j < n; j++) {
      const i = keep[j];
      const row = (L[i] ??= []);
      let sum = K[i][keep[m]];
      for (let l = 0; l < m; l++) sum -= row[l] * L[keep[m]][l];
      row[m] = j === m ? root : sum / root;
      rest[i] -= j === m ? 0 : row[m] * row[m];
    }
    keep.rank = m + 1;
  }
  const kept = keep.slice(0, keep.rank ?? 0);
  return { L: kept.map((i) => L[i]), keep: kept };
}

/** Solve L L' z = b. */
function choleskySolve(L, b) {
  const z = [...b];
  for (let i = 0; i < z.length; i++) {
    for (let j = 0; j < i; j++) z[i] -= L[i][j] * z[j];
    z[i] /= L[i][i];
  }
  for (let i = z.length - 1; i >= 0; i--) {
    for (let j = i + 1; j < z.length; j++) z[i] -= L[j][i] * z[j];
    z[i] /= L[i][i];
  }
  return z;
}

export const POLICIES = {
  removal: Removal,
  nearest: Nearest,
  projection: Projection,
  oldest: Oldest,
  smallest: Smallest,
};
