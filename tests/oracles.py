"""Slow, obvious references for the passive-aggressive (PA) family: numerical solvers, and loops of `pa_lab.plain`.

Symbols: `w` weights, `x` example, `y` label in {-1, +1} (or a real target), `p = w.x` score, `tau` step size,
`C` aggressiveness, `epsilon` tube, `delta` query smoothing, `K` kernel. A variant is "PA", "PA-I", "PA-II" or
"PALS". The intercept is the weight of a constant 1 at the end of `x`.
"""

from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, lsq_linear, minimize

from pa_lab import plain
from pa_lab.rules import VARIANTS as VARIANTS

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


# ---------------------------------------------------------------- `pa_lab.plain`, with the options of the learners


def sign(p):
    """+1 if p > 0, else -1."""
    return np.where(np.asarray(p) > 0, 1, -1)


def stream(n, epochs=1, order=None):
    """Indices in the order seen; `order` is one permutation for every epoch, or a list of one per epoch."""
    order = np.arange(n) if order is None else np.asarray(order)
    return np.concatenate([order[epoch] if order.ndim == 2 else order for epoch in range(epochs)])


def extend(X, fit_intercept):
    """Append the constant 1 that carries the intercept."""
    X = np.asarray(X, float)
    return np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X


def seen(X, y, fit_intercept, epochs, order):
    """Rows with their constant, and targets, in the order seen."""
    at = stream(len(X), epochs, order)
    return extend(X, fit_intercept)[at], np.asarray(y)[at]


def result(path, fit_intercept, average, **counts):
    """Split the last and the average weights of a path into w, b, avg_w, avg_b; count the changes."""
    mean, d = plain.average(path), path.shape[-1] - bool(fit_intercept)
    w = mean if average else path[-1]
    b, avg_b = (w[..., d], mean[..., d]) if fit_intercept else (0.0 * w[..., 0], 0.0 * w[..., 0])
    moved = np.diff(path, axis=0, prepend=0 * path[:1]).reshape(len(path), -1).any(axis=1)
    return {"w": w[..., :d], "b": b, "avg_w": mean[..., :d], "avg_b": avg_b, "n_updates": moved.sum(), **counts}


def scores_before(path, X):
    """The score of each example (of each class) under the weights that it found."""
    found = np.concatenate([0 * path[:1], path[:-1]])
    return np.array([w @ x for w, x in zip(found, X, strict=True)])


def pa_binary(X, y, variant="PA-I", C=1.0, fit_intercept=True, epochs=1, **options):
    """`pa_active` with every label read; options: order, average, class_weight."""
    draws = np.zeros(epochs * len(X))
    return pa_active(X, y, draws, variant, C, rule="all", fit_intercept=fit_intercept, epochs=epochs, **options)


def pa_active(
    X, y, draws, variant="PA-I", C=1.0, delta=1.0, rule="margin", query_rate=0.5, label_budget=None,
    fit_intercept=True, epochs=1, order=None, average=False, class_weight=(1.0, 1.0),
):  # fmt: skip
    """`plain.active`; draws that say yes (-1) or no (1) make the other query rules and the budget of it.

    `n_mistakes` counts over all examples seen, `n_mistakes_queried` over those whose label was read.
    """
    X, y = seen(X, y, fit_intercept, epochs, order)
    C = C * np.where(y > 0, class_weight[1], class_weight[0])
    if rule != "margin":  # delta / (delta + |p|) is at least 1/2 where |p| <= delta
        draws = {"all": -1.0, "random": np.where(draws < query_rate, -1.0, 1.0), "threshold": np.nextafter(0.5, 0)}[
            rule
        ]
    draws = np.array(np.broadcast_to(draws, len(X)))
    path, asked = plain.active(X, y, draws, delta, C, variant)
    if label_budget is not None and asked.sum() > label_budget:
        draws[np.flatnonzero(asked)[label_budget] :] = 1.0
        path, asked = plain.active(X, y, draws, delta, C, variant)
    wrong = sign(scores_before(path, X)) != y
    counts = {"n_mistakes": wrong.sum(), "n_mistakes_queried": wrong[asked].sum(), "n_queries": asked.sum()}
    return result(path, fit_intercept, average, **counts, queried=np.flatnonzero(asked).tolist())


def pa_regression(X, y, variant="PA-I", C=1.0, epsilon=0.1, fit_intercept=True, epochs=1, order=None, average=False):
    """`plain.linear` with a tube; PALS has none."""
    X, y = seen(X, y, fit_intercept, epochs, order)
    epsilon = 0.0 if variant == "PALS" else epsilon
    return result(plain.linear(X, y, C, variant, plain.tube, epsilon=epsilon), fit_intercept, average)


def pa_multiclass(
    X, y, n_classes, variant="PA-I", C=1.0, fit_intercept=True, epochs=1, order=None, average=False,
    class_weight=None,
):  # fmt: skip
    """`plain.multiclass`; y in 0 .. n_classes - 1, and the prediction is the lowest-index argmax."""
    X, y = seen(X, y, fit_intercept, epochs, order)
    C = C * (np.ones(n_classes) if class_weight is None else np.asarray(class_weight))[y]
    path = plain.learn(plain.multiclass, np.zeros((n_classes, X.shape[1])), list(zip(X, y, strict=True)), C, variant)
    return result(path, fit_intercept, average, n_mistakes=(scores_before(path, X).argmax(axis=1) != y).sum())


def pa_kernel(K, y, variant="PA-I", C=1.0, epsilon=None, epochs=1, average=False, class_weight=(1.0, 1.0)):
    """`plain.kernel`; given epsilon, regression.

    `support` lists example indices in the order they entered (each once), `coef` their coefficients, `avg_coef` the
    mean coefficients over all steps, `scores` those of each step before the update.
    """
    at = stream(len(y), epochs)
    K, y = np.asarray(K)[np.ix_(at, at)], np.asarray(y)[at]
    C = C * np.where(y > 0, class_weight[1], class_weight[0]) if epsilon is None else C
    tube = {"epsilon": 0.0 if variant == "PALS" else epsilon, "loss": plain.tube}
    a = plain.kernel(K, y, C, variant, **({} if epsilon is None else tube))
    support, scores = list(dict.fromkeys(at[a != 0].tolist())), np.tril(K, -1) @ a
    coef, mean = (np.array([part[at == i].sum() for i in support]) for part in (a, plain.average_coefficients(a)))
    counts = {"n_updates": np.count_nonzero(a), "n_mistakes": (sign(scores) != y).sum(), "scores": scores}
    return {"support": support, "coef": mean if average else coef, "avg_coef": mean, **counts}


# ---------------------------------------------------------------- mini-batches


def box_qp(G, h, ridge, low, high, tol=1e-14, max_iter=300):
    """Minimise 1/2 t'H t - h't, H = G G' + diag(ridge), over low <= t <= high; raise if there is no minimum.

    Repeats a proximal step from t_k by bounded least squares, min 1/2 || [G'; sqrt(ridge); sqrt(rho)] t -
    [0; 0; (h + rho t_k) / sqrt(rho)] ||^2, and keeps it, or the stationary point of H over its coordinates off
    their bounds, when better by the measure || t - clip(t - gradient) ||. Rows are scaled to unit diagonal.
    """
    size = np.sqrt(np.sum(G**2, axis=1) + ridge)
    G, h, ridge, low, high, rho = G / size[:, None], h / size, ridge / size**2, low * size, high * size, 1e-3
    H, wall = (
        G @ G.T + np.diag(ridge),
        np.vstack([G.T, np.diag(np.sqrt(ridge)), np.sqrt(rho) * np.eye(len(h))]),
    )

    def violation(t):
        return np.max(np.abs(t - np.clip(t - (H @ t - h), low, high))) / max(1.0, np.max(np.abs(h)))

    t = best = np.clip(np.zeros(len(h)), low, high)
    for _ in range(max_iter):
        goal = np.r_[np.zeros(len(wall) - len(h)), (h + rho * t) / np.sqrt(rho)]
        t = lsq_linear(wall, goal, (low, high), method="bvls", tol=1e-15, max_iter=1000).x
        free, polished = (t > low) & (t < high), t.copy()
        polished[free] -= np.linalg.lstsq(H[np.ix_(free, free)], (H @ t - h)[free])[0] if free.any() else 0
        best = min(best, t, np.clip(polished, low, high), key=violation)
        if violation(best) < tol:
            break
    if violation(best) > 1e-9:
        raise ValueError(f"no minimum found, residual {violation(best):.1e}: do the constraints contradict?")
    return best / size


def batch_step(w, Xb, yb, variant, C=1.0):
    """Solve min_v 1/2 ||v - w||^2 + C sum_k xi_k (PA-I) or C sum_k xi_k^2 s.t. y_k v.x_k >= 1 - xi_k.

    Dual: max_tau -1/2 tau'A tau + l'tau, A_jk = y_j y_k x_j.x_k, l_k = 1 - y_k w.x_k, tau >= 0; PA-I also
    tau_k <= C; PA-II has A + I/(2C); PALS (equality) tau = (A + I/(2C))^+ l. v = w + sum_k tau_k y_k x_k.
    C may be one value per example. Zero rows are left out (tau 0). Returns (v, tau); v is unique, tau is so
    when A (+ ridge) is invertible. PA raises ValueError when the constraints contradict each other.
    """
    w, yb = np.asarray(w, float), np.asarray(yb, float)
    G, C = np.asarray(Xb, float) * yb[:, None], np.broadcast_to(np.asarray(C, float), yb.shape)
    keep, taus = np.any(G != 0, axis=1), np.zeros(len(G))
    if not keep.any():
        return w.copy(), taus
    G, C, m = G[keep], C[keep], int(keep.sum())
    gaps, ridge = 1 - G @ w, 1 / (2 * C)
    if variant == "PALS":
        taus[keep] = np.linalg.pinv(G @ G.T + np.diag(ridge)) @ gaps
    else:
        high = C if variant == "PA-I" else np.full(m, np.inf)
        taus[keep] = box_qp(G, gaps, ridge if variant == "PA-II" else np.zeros(m), np.zeros(m), high)
    return w + G.T @ taus[keep], taus


def batch_step_primal(w, Xb, yb, variant, C=1.0):
    """Solve the problem of `batch_step` in (v, xi) itself, one slack per example."""
    rows = np.asarray(Xb, float) * np.asarray(yb, float)[:, None]
    return primal_qp(np.asarray(w, float), rows, np.ones(len(rows)), range(len(rows)), variant, C)


def batch_least_squares(w, Xb, yb, C):
    """`batch_step` of PALS in rational numbers, without any rounding: (v, tau, losses before), lists of fractions."""
    w, C = [Fraction(float(v)) for v in w], [Fraction(float(c)) for c in C]
    Z = [[Fraction(float(v)) * int(label) for v in row] for row, label in zip(Xb, yb, strict=True)]
    loss = [1 - sum(a * b for a, b in zip(z, w, strict=True)) for z in Z]
    keep = [k for k, z in enumerate(Z) if any(z)]
    system = [[sum(a * b for a, b in zip(Z[i], Z[j], strict=True)) + (i == j) / (2 * C[i]) for j in keep] + [loss[i]]
              for i in keep]  # fmt: skip
    for i, pivot in enumerate(system):  # Gauss and Jordan; the matrix is positive definite
        pivot[:] = [value / pivot[i] for value in pivot]
        for row in system[:i] + system[i + 1 :]:
            row[:] = [a - row[i] * b for a, b in zip(row, pivot, strict=True)]
    tau = [Fraction(0)] * len(Z)
    for k, row in zip(keep, system, strict=True):
        tau[k] = row[-1]
    return [v + sum(t * z[d] for t, z in zip(tau, Z, strict=True)) for d, v in enumerate(w)], tau, loss


def pa_batch(X, y, variant="PA-I", C=1.0, fit_intercept=True, batch_size=1, epochs=1, class_weight=(1.0, 1.0)):
    """`batch_step` on consecutive groups, the last maybe short; mistakes are counted before a group's step."""
    X, y = extend(X, fit_intercept), np.asarray(y)
    w, taus, n_mistakes = np.zeros(X.shape[1]), [], 0
    for _ in range(epochs):
        for start in range(0, len(X), batch_size):
            Xb, yb = X[start : start + batch_size], y[start : start + batch_size]
            n_mistakes += (sign(Xb @ w) != yb).sum()
            w, tau = batch_step(w, Xb, yb, variant, C * np.where(yb > 0, class_weight[1], class_weight[0]))
            taus.extend(tau)
    b = w[-1] if fit_intercept else 0.0
    return {
        "w": w[: X.shape[1] - bool(fit_intercept)],
        "b": b,
        "n_mistakes": n_mistakes,
        "taus": np.array(taus),
    }


ONLINE = "an online learner moves once for a row of weight 2 and twice for a repeated one, as SGDClassifier does"


def expected_failed_checks(estimator):
    """The checks of scikit-learn that its own online learners cannot pass either, with the reason."""
    return {f"check_sample_weight_equivalence_on_{kind}_data": ONLINE for kind in ("dense", "sparse")}
