// Losses and step sizes of the passive-aggressive family in two classes, to be read beside pa_lab/rules.py: the same
// functions in the same order. Only the last one is from pa_lab/queries.py.
//
// y label in {-1, +1}, p = w.x score, loss what the example suffers before the update, sqnorm the squared norm of the
// direction moved along (|x|^2, plus 1 with an intercept), C aggressiveness, tau step size, xi slack.

export const VARIANTS = ["PA", "PA-I", "PA-II", "PALS"];

/** Hinge loss max(0, 1 - y p). */
export function hinge(y, p) {
  return Math.max(0, 1 - y * p);
}

/** Distance of p to the tube around y: max(0, |y - p| - epsilon). */
export function epsilonInsensitive(y, p, epsilon) {
  return Math.max(0, Math.abs(y - p) - epsilon);
}

/** Loss of a score under a rule. PALS asks for y p = 1 exactly, the others for a margin of at least 1. */
export function lossOf(variant, y, p) {
  return variant === "PALS" ? epsilonInsensitive(y, p, 0) : hinge(y, p);
}

/** Which way the score has to move to lower its loss: 1 up, -1 down. */
export function direction(variant, y, p) {
  return (variant === "PALS" ? p < y : y > 0) ? 1 : -1;
}

/** Whether a score has the wrong sign; 0 counts as negative. */
export function isMistake(y, p) {
  return p > 0 !== y > 0;
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
  if (variant === "PA-II" || variant === "PALS") return tauPA2(loss, sqnorm, C);
  throw new Error(`unknown rule ${variant}`);
}

/** What a slack xi costs in the objective: PA infinitely much, PA-I C xi, PA-II and PALS C xi^2. */
export function slackPrice(variant, xi, C) {
  if (variant === "PA") return xi > 1e-9 ? Infinity : 0;
  return variant === "PA-I" ? C * xi : C * xi * xi;
}

/** Objective of the step along a direction: 1/2 tau^2 sqnorm plus the price of the slack it leaves. */
export function stepCost(variant, loss, sqnorm, C) {
  const tau = step(variant, loss, sqnorm, C);
  return 0.5 * tau * tau * sqnorm + slackPrice(variant, Math.max(0, loss - tau * sqnorm), C);
}

/** Probability that the label of an example with score p is asked for. */
export function queryProbability(query, p, delta, rate) {
  if (query === "margin") return delta / (delta + Math.abs(p));
  if (query === "random") return rate;
  if (query === "threshold") return Math.abs(p) <= delta ? 1 : 0;
  throw new Error(`unknown query rule ${query}`);
}
