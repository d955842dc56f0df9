// The linear learner: the loop `learn` of pa_lab, one example at a time.

import { direction, isMistake, lossOf, queryProbability, step } from "./rules.js";

/** What every learner on this page counts, as pa_lab does: a score of 0 stands for the first class, -1. */
export class Counter {
  constructor({ query = "all", delta = 1, rate = 0, labelBudget = Infinity } = {}) {
    Object.assign(this, { query, delta, rate, labelBudget });
    this.seen = this.counted = this.updates = this.mistakes = this.queries = 0;
  }

  /** Count an example with score p and say whether its label is asked for; `draw` is uniform in [0, 1). */
  asks(p, draw) {
    this.seen += 1;
    if (this.queries >= this.labelBudget) return false;
    this.counted += 1; // in the mean, which ends with the last label that could be asked for
    if (this.query !== "all" && draw >= queryProbability(this.query, p, this.delta, this.rate)) return false;
    this.queries += 1;
    return true;
  }

  /** Count a mistake, if the score p stands for the other class than y. */
  judge(y, p) {
    const wrong = isMistake(y, p);
    if (wrong) this.mistakes += 1;
    return wrong;
  }
}

/** Linear passive-aggressive classifier. The last weight is the intercept, a weight on a constant 1. */
export class LinearPA extends Counter {
  constructor({ variant = "PA-I", C = 1, intercept = true, features = 2, ...asking } = {}) {
    super(asking);
    Object.assign(this, { variant, C, one: intercept ? 1 : 0 });
    this.w = new Float64Array(features + 1);
    this.drift = new Float64Array(features + 1);
  }

  score(x) {
    let p = this.one * this.w[x.length];
    for (let j = 0; j < x.length; j++) p += x[j] * this.w[j];
    return p;
  }

  /** Meet the example x with label y. Returns what happened; tau is null if the label was not asked for. */
  learn(x, y, draw = 0) {
    const p = this.score(x);
    if (!this.asks(p, draw)) return { p, tau: null, wrong: false };
    const loss = lossOf(this.variant, y, p);
    if (loss === 0) return { p, tau: 0, wrong: false };
    const wrong = this.judge(y, p);
    let sqnorm = this.one;
    for (const value of x) sqnorm += value * value;
    const tau = step(this.variant, loss, sqnorm, this.C);
    if (tau !== 0) {
      this.updates += 1;
      this.shift(x, tau * direction(this.variant, y, p));
    }
    return { p, tau, wrong };
  }

  /** Add `amount` times the example to the weights, and keep what the average needs. */
  shift(x, amount) {
    for (let j = 0; j <= x.length; j++) {
      const change = amount * (j < x.length ? x[j] : this.one);
      this.w[j] += change;
      this.drift[j] += (this.counted - 1) * change;
    }
  }

  /** Mean of the weights after each example that counts: w - drift / T, with drift = sum (t - 1) (w_{t+1} - w_t). */
  averaged() {
    return this.w.map((value, j) => value - this.drift[j] / Math.max(this.counted, 1));
  }
}

/** The perceptron, for comparison: on a mistake the weights move by y x, whatever the score was. */
export class Perceptron extends LinearPA {
  learn(x, y, draw = 0) {
    const p = this.score(x);
    if (!this.asks(p, draw)) return { p, tau: null, wrong: false };
    const wrong = this.judge(y, p);
    if (wrong) {
      this.updates += 1;
      this.shift(x, y);
    }
    return { p, tau: wrong ? 1 : 0, wrong };
  }
}
