// Losses and step sizes of the passive-aggressive family: pa_lab/rules.py and the query rules, line by line.
//
// y label in {-1, +1}, p = w.x score, loss what the example suffers before the update, sqnorm the squared norm of the
// direction moved along (|x|^2, plus 1 with an intercept), C aggressiveness, tau step size.

export const VARIANTS = ["PA", "PA-I", "PA-II", "PALS"];

/** Hinge loss max(0, 1 - y p). */
export function hinge(y, p) {
  return Math.max(0, 1 - y * p);
}

/** Distance of p to the tube around y: max(0, |y - p| - epsilon). */
export function epsilonInsensitive(y, p, epsilon) {
  return Math.max(0, Math.abs(y - p) - epsilon);
}

/** The loss of a variant on a label: PALS asks for a score of exactly y, the others for a margin of at least 1. */
export function lossOf(variant, y, p) {
  return variant === "PALS" ? epsilonInsensitive(y, p, 0) : hinge(y, p);
}

/** The sign of the step along x: towards the label, or for PALS towards a score of y from either side. */
export function directionOf(variant, y, p) {
  return (variant === "PALS" ? p < y : y > 0) ? 1 : -1;
}

/** PA: after this step the loss is 0. C is not used. */
export function tauPA(loss, sqnorm, C) {
  return loss / sqnorm;
}

/** PA-I: the same step, but never more than C. */
export function tauPA1(loss, sqnorm, C) {
  return Math.min(C, loss / sqnorm);
}

/** PA-II: a step that always falls a little short. PALS takes it too, with |y - p| as its loss. */
export function tauPA2(loss, sqnorm, C) {
  return loss / (sqnorm + 0.5 / C);
}

/** Step size of a variant; 0 where there is nothing to learn or no direction. */
export function step(variant, loss, sqnorm, C) {
  if (loss === 0 || sqnorm === 0) return 0;
  if (variant === "PA") return tauPA(loss, sqnorm, C);
  if (variant === "PA-I") return tauPA1(loss, sqnorm, C);
  return tauPA2(loss, sqnorm, C);
}

/** Probability that the label of an example with score p is asked for. */
export function queryProbability(query, p, delta, rate) {
  if (query === "margin") return delta / (delta + Math.abs(p));
  if (query === "random") return rate;
  if (query === "threshold") return Math.abs(p) <= delta ? 1 : 0;
  return 1;
}
