// The kernel learner: a weighted sum of kernel functions, growing or within a budget, as in pa_lab.

import { Counter } from "./linear.js";
import { POLICIES } from "./budget.js";
import { direction, lossOf, step } from "./rules.js";

/** Kernel functions k(x, s), with scikit-learn's parameters. */
export function kernelFunction({ kernel = "rbf", gamma = 1, degree = 3, coef0 = 0 } = {}) {
  const product = (x, s) => {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += x[j] * s[j];
    return sum;
  };
  const distance = (x, s) => {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += (x[j] - s[j]) * (x[j] - s[j]);
    return sum;
  };
  if (kernel === "linear") return product;
  if (kernel === "poly") return (x, s) => (gamma * product(x, s) + coef0) ** degree;
  if (kernel === "rbf") return (x, s) => Math.exp(-gamma * distance(x, s));
  throw new Error(`unknown kernel ${kernel}`);
}

/**
 * Passive-aggressive classifier with a kernel and no intercept. `vectors`, `numbers` (places in the stream) and
 * `coefficients` are the model. With a `budget` there are never more than so many; `policy` says what goes.
 */
export class KernelPA extends Counter {
  constructor({ variant = "PA-I", C = 1, budget = Infinity, policy = "projection", ...rest } = {}) {
    super(rest);
    Object.assign(this, { variant, C, budget, k: kernelFunction(rest) });
    this.vectors = [];
    this.numbers = [];
    this.coefficients = [];
    this.keeper = budget === Infinity ? null : new POLICIES[policy](this);
  }

  score(x) {
    let p = 0;
    for (let j = 0; j < this.vectors.length; j++) p += this.coefficients[j] * this.k(x, this.vectors[j]);
    return p;
  }

  /** Meet the example x with label y; `gone` holds the places in the stream of the vectors given up for it. */
  learn(x, y, draw = 0) {
    const p = this.score(x);
    if (!this.asks(p, draw)) return { p, tau: null, wrong: false, gone: [] };
    const loss = lossOf(this.variant, y, p);
    if (loss === 0) return { p, tau: 0, wrong: false, gone: [] };
    const wrong = this.judge(y, p);
    const tau = step(this.variant, loss, this.k(x, x), this.C);
    let gone = [];
    if (tau !== 0) {
      this.updates += 1;
      const example = { x, number: this.seen - 1, move: tau * direction(this.variant, y, p), loss };
      if (this.keeper) gone = this.keeper.take(example);
      else this.append(example);
    }
    return { p, tau, wrong, gone };
  }

  append({ x, number, move }) {
    this.vectors.push(x);
    this.numbers.push(number);
    this.coefficients.push(move);
  }
}
