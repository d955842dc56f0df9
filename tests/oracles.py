"""Slow, obvious references for the passive-aggressive (PA) family, written from the mathematics alone.

Symbols: `w` weights, `x` example, `y` label in {-1, +1} (or a real target), `p = w.x` score, `tau` step size,
`C` aggressiveness, `epsilon` tube, `delta` query smoothing, `K` kernel. A variant is "PA", "PA-I", "PA-II" or
"PALS". The intercept is the weight of a constant 1 at the end of `x`.
"""

import numpy as np
from scipy.optimize import brentq, minimize

VARIANTS = ("PA", "PA-I", "PA-II", "PALS")


# ---------------------------------------------------------------- one example, solved numerically


def side_and_target(w, x, y, variant, epsilon=None):
    """Write the constraint of one example as `s * (v.x) >= g` (PALS: equality) and return (s, g).

    Classification: y v.x >= 1. Regression: |v.x - y| <= epsilon, of which only the side nearer to w can bind.
    Least squares: y v.x = 1, or v.x = y (no tube).
    """
    if epsilon is None:
        return float(y), 1.0
    if variant == "PALS":
        return 1.0, float(y)
    side = 1.0 if y > np.dot(w, x) else -1.0
    return side, side * y - epsilon


def solve_step(w, x, y, variant, C=1.0, epsilon=None):
    """Solve the PA problem of one example by a bracketing root finder; return (new w, tau).

    PA     min_v 1/2 ||v - w||^2               s.t. s v.x >= g
    PA-I   min_v 1/2 ||v - w||^2 + C xi        s.t. s v.x >= g - xi, xi >= 0
    PA-II  min_v 1/2 ||v - w||^2 + C xi^2      s.t. s v.x >= g - xi
    PALS   min_v 1/2 ||v - w||^2 + C xi^2      s.t. s v.x  = g - xi

    The Lagrangian gives v = w + tau s x and, for a squared penalty, xi = tau / (2C); tau is the root of the
    remaining condition g - s v.x - xi = 0, which decreases in tau. PA-I cuts tau at C.
    """
    w, x = np.asarray(w, float), np.asarray(x, float)
    side, target = side_and_target(w, x, y, variant, epsilon)

    def residual(tau):
        slack = tau / (2 * C) if variant in ("PA-II", "PALS") else 0.0
        return target - side * np.dot(w + tau * side * x, x) - slack

    start = residual(0.0)
    if not np.any(x) or start == 0 or (start < 0 and variant != "PALS"):
        return w.copy(), 0.0
    if variant == "PA-I" and residual(C) >= 0:
        return w + C * side * x, float(C)
    far = np.sign(start) * 1e-12
    while residual(far) * start > 0:
        far *= 2
    tau = brentq(residual, 0.0, far, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=1000)
    return w + tau * side * x, tau


def primal_qp(w, rows, targets, slack_of_row, variant, C=1.0):
    """Solve min 1/2 ||v - w||^2 + C sum xi (or xi^2) s.t. rows.v + xi[slack_of_row] >= targets, by SLSQP.

    Works on all coordinates of v and xi at once and assumes nothing about the direction of the step. Scaled
    variables (v = w + S z; PA-I: xi = S n u; squared: xi = S u / sqrt(2C)) keep everything near 1.
    """
    rows, (m, d) = np.asarray(rows, float), np.shape(rows)
    gaps, k = np.asarray(targets) - rows @ w, 0 if variant == "PA" else max(slack_of_row) + 1
    norm = np.sqrt(np.max(np.sum(rows**2, axis=1)))
    unit = {"PA": 0.0, "PA-I": norm, "PA-II": np.sqrt(1 / (2 * C)), "PALS": np.sqrt(1 / (2 * C))}[variant]
    scale = max(np.max(np.abs(gaps)) / norm, C * norm if variant == "PA-I" else 0.0)
    if scale == 0:
        return np.array(w, float)
    link = np.zeros((m, k))
    for i in range(m if k else 0):
        link[i, slack_of_row[i]] = unit
    G, h = np.hstack([rows, link]) / norm, gaps / norm / scale
    cost = np.r_[np.zeros(d), np.full(k, C * unit / scale)] if variant == "PA-I" else np.zeros(d + k)
    curve = np.r_[np.ones(d), np.full(k, 0.0 if variant == "PA-I" else 1.0)]
    kind = "eq" if variant == "PALS" else "ineq"
    solution = minimize(
        lambda u: 0.5 * np.sum(curve * u * u) + np.dot(cost, u),
        np.zeros(d + k),
        jac=lambda u: curve * u + cost,
        constraints={"type": kind, "fun": lambda u: G @ u - h, "jac": lambda u: G},
        bounds=[(None, None)] * d + [(0 if variant == "PA-I" else None, None)] * k,
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return w + scale * solution.x[:d]


def primal_step(w, x, y, variant, C=1.0, epsilon=None):
    """Solve the problem of `solve_step` in (v, xi): one row for a label, two sharing one xi for a tube."""
    w, x = np.asarray(w, float), np.asarray(x, float)
    if epsilon is None:
        return primal_qp(w, [y * x], [1.0], [0], variant, C)
    if variant == "PALS":
        return primal_qp(w, [x], [y], [0], variant, C)
    return primal_qp(w, [x, -x], [y - epsilon, -y - epsilon], [0, 0], variant, C)


# ---------------------------------------------------------------- the closed forms, one example at a time


def step_size(residual, norm2, variant, C=1.0):
    """PA: l / n. PA-I: min(C, l / n). PA-II: l / (n + 1/(2C)). PALS: r / (n + 1/(2C)). l = max(0, r).

    `residual` r is 1 - y p, |y - p| - epsilon, or (PALS regression) y - p; `norm2` n is the squared norm of
    what tau multiplies, intercept included. Nothing moves when n = 0.
    """
    if norm2 == 0:
        return 0.0
    if variant == "PALS":
        return residual / (norm2 + 1 / (2 * C))
    loss = max(0.0, residual)
    if variant == "PA":
        return loss / norm2
    if variant == "PA-I":
        return min(C, loss / norm2)
    return loss / (norm2 + 1 / (2 * C))


def sign(p):
    """+1 if p > 0, else -1."""
    return 1 if p > 0 else -1


def stream(n, epochs=1, order=None):
    """Indices in the order seen; `order` is one permutation for every epoch, or a list of one per epoch."""
    order = np.arange(n) if order is None else np.asarray(order)
    for epoch in range(epochs):
        yield from (int(i) for i in (order[epoch] if order.ndim == 2 else order))


def extend(X, fit_intercept):
    """Append the constant 1 that carries the intercept."""
    X = np.asarray(X, float)
    return np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X


def result(w, total, steps, fit_intercept, average, **counts):
    """Split weights and their average (mean over the weights after every example) into w, b, avg_w, avg_b."""
    mean = total / steps if steps else w
    w, d = (mean if average else w), w.shape[-1] - bool(fit_intercept)
    b, avg_b = (w[..., d], mean[..., d]) if fit_intercept else (0.0 * w[..., 0], 0.0 * w[..., 0])
    return {"w": w[..., :d], "b": b, "avg_w": mean[..., :d], "avg_b": avg_b, **counts}


def pa_binary(X, y, variant="PA-I", C=1.0, fit_intercept=True, epochs=1, **options):
    """Online binary PA: w += tau y x, tau = step_size(1 - y p, ||x||^2 (+ 1), C c_y), c = (c_neg, c_pos).

    `pa_active` with every label read; options: order, average, class_weight.
    """
    draws = np.zeros(epochs * len(X))
    return pa_active(
        X, y, draws, variant, C, rule="all", fit_intercept=fit_intercept, epochs=epochs, **options
    )


def query_probability(p, rule, delta, query_rate):
    """all: 1. margin: delta / (delta + |p|). random: query_rate."""
    return {"all": 1.0, "margin": delta / (delta + abs(p)), "random": query_rate}[rule]


def pa_active(
    X, y, draws, variant="PA-I", C=1.0, delta=1.0, rule="margin", query_rate=0.5, label_budget=None,
    fit_intercept=True, epochs=1, order=None, average=False, class_weight=(1.0, 1.0),
):  # fmt: skip
    """Online active PA: the label of step t is read, and PA applied, only if draws[t] < probability(p).

    Once `label_budget` labels are read, no more are. `n_mistakes` counts over all examples seen, as an
    observer would; `n_mistakes_queried` over those whose label was read; both before the update.
    """
    X = extend(X, fit_intercept)
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    taus, losses, queried, n_updates, n_mistakes, n_mistakes_queried = [], [], [], 0, 0, 0
    for t, i in enumerate(stream(len(X), epochs, order)):
        x, p = X[i], float(np.dot(w, X[i]))
        residual, tau = 1 - y[i] * p, 0.0
        may_ask = label_budget is None or len(queried) < label_budget
        n_mistakes += sign(p) != y[i]
        if may_ask and (rule == "all" or draws[t] < query_probability(p, rule, delta, query_rate)):
            queried.append(t)
            n_mistakes_queried += sign(p) != y[i]
            tau = step_size(residual, np.dot(x, x), variant, C * class_weight[1 if y[i] > 0 else 0])
            n_updates += tau != 0
            w = w + tau * y[i] * x
        taus.append(tau)
        losses.append(max(0.0, residual))
        total = total + w
    counts = {"n_updates": n_updates, "n_mistakes": n_mistakes, "n_mistakes_queried": n_mistakes_queried}
    counts |= {
        "n_queries": len(queried),
        "queried": queried,
        "taus": np.array(taus),
        "losses": np.array(losses),
    }
    return result(w, total, len(taus), fit_intercept, average, **counts)


def pa_regression(
    X, y, variant="PA-I", C=1.0, epsilon=0.1, fit_intercept=True, epochs=1, order=None, average=False
):
    """Online PA regression: w += tau sign(y - p) x, tau = step_size(|y - p| - epsilon, ...).

    PALS has no tube: w += tau x, tau = (y - p) / (n + 1/(2C)). `taus` holds the signed coefficient of x;
    `losses` is max(0, |y - p| - epsilon) before the update.
    """
    X = extend(X, fit_intercept)
    w, total, taus, losses = np.zeros(X.shape[1]), np.zeros(X.shape[1]), [], []
    for i in stream(len(X), epochs, order):
        x, error = X[i], y[i] - float(np.dot(w, X[i]))
        if variant == "PALS":
            tau = step_size(error, np.dot(x, x), variant, C)
        else:
            tau = step_size(abs(error) - epsilon, np.dot(x, x), variant, C) * sign(error)
        w = w + tau * x
        taus.append(tau)
        losses.append(max(0.0, abs(error) - epsilon))
        total = total + w
    counts = {"n_updates": int(np.count_nonzero(taus)), "taus": np.array(taus), "losses": np.array(losses)}
    return result(w, total, len(taus), fit_intercept, average, **counts)


def pa_multiclass(
    X, y, n_classes, variant="PA-I", C=1.0, fit_intercept=True, epochs=1, order=None, average=False,
    class_weight=None,
):  # fmt: skip
    """Single-label multiclass PA, one prototype w_k per class; y in 0 .. n_classes - 1.

    s is the right class, r the highest-scoring wrong one (ties: lowest index); residual 1 - (w_s.x - w_r.x);
    w_s += tau x, w_r -= tau x, so the squared norm is 2 ||x||^2. The prediction is the lowest-index argmax.
    """
    X = extend(X, fit_intercept)
    weight = np.ones(n_classes) if class_weight is None else class_weight
    W, total, taus, n_mistakes = np.zeros((n_classes, X.shape[1])), np.zeros((n_classes, X.shape[1])), [], 0
    for i in stream(len(X), epochs, order):
        x, s = X[i], int(y[i])
        scores = [float(np.dot(W[k], x)) for k in range(n_classes)]
        n_mistakes += scores.index(max(scores)) != s
        r = max((k for k in range(n_classes) if k != s), key=lambda k: (scores[k], -k))
        tau = step_size(1 - (scores[s] - scores[r]), 2 * np.dot(x, x), variant, C * weight[s])
        W[s] += tau * x
        W[r] -= tau * x
        taus.append(tau)
        total = total + W
    counts = {"n_updates": int(np.count_nonzero(taus)), "n_mistakes": n_mistakes, "taus": np.array(taus)}
    return result(W, total, len(taus), fit_intercept, average, **counts)
