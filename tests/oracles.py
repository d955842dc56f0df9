"""Slow, obvious references for the passive-aggressive (PA) family, written from the mathematics alone.

Symbols: `w` weights, `x` example, `y` label in {-1, +1} (or a real target), `p = w.x` score, `tau` step size,
`C` aggressiveness, `epsilon` tube, `delta` query smoothing, `K` kernel. A variant is "PA", "PA-I", "PA-II" or
"PALS". The intercept is the weight of a constant 1 at the end of `x`.
"""

from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, lsq_linear, minimize

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
    return pa_active(X, y, draws, variant, C, rule="all", fit_intercept=fit_intercept, epochs=epochs, **options)


def query_probability(p, rule, delta, query_rate):
    """all: 1. margin: delta / (delta + |p|). random: query_rate. threshold: 1 if |p| <= delta, else 0."""
    sure = {"all": 1.0, "threshold": float(abs(p) <= delta)}
    return (sure | {"margin": delta / (delta + abs(p)), "random": query_rate})[rule]


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


def pa_regression(X, y, variant="PA-I", C=1.0, epsilon=0.1, fit_intercept=True, epochs=1, order=None, average=False):
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


# ---------------------------------------------------------------- kernel expansion


def pa_kernel(
    K_func, X, y, variant="PA-I", C=1.0, epsilon=None, epochs=1, order=None, average=False,
    class_weight=(1.0, 1.0),
):  # fmt: skip
    """Kernel PA: p = sum_i a_i K(x_i, x), then a_t += tau y; given epsilon, regression: tau sign(y - p).

    tau = step_size(residual, K(x, x), ...). No intercept. `support` lists example indices in the order they
    entered (each once), `coef` their coefficients, `avg_coef` the mean coefficients over all steps.
    """
    a, total, scores, n_mistakes, n_updates = {}, {}, [], 0, 0
    for i in stream(len(X), epochs, order):
        x, p = X[i], sum(a_j * K_func(X[j], X[i]) for j, a_j in a.items())
        side, residual, weight = float(y[i]), 1 - y[i] * p, class_weight[1 if y[i] > 0 else 0]
        if epsilon is not None:
            side, weight = (1.0 if variant == "PALS" else sign(y[i] - p)), 1.0
            residual = y[i] - p if variant == "PALS" else abs(y[i] - p) - epsilon
        tau = step_size(residual, K_func(x, x), variant, C * weight)
        if tau != 0:
            a[i] = a.get(i, 0.0) + tau * side
        for j in a:
            total[j] = total.get(j, 0.0) + a[j]
        scores.append(p)
        n_updates += tau != 0
        n_mistakes += epsilon is None and sign(p) != y[i]
    coef, avg_coef = np.array(list(a.values())), np.array([total[j] for j in a]) / max(1, len(scores))
    counts = {"n_updates": n_updates, "n_mistakes": n_mistakes, "scores": np.array(scores)}
    return {"support": list(a), "coef": avg_coef if average else coef, "avg_coef": avg_coef, **counts}


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
            n_mistakes += sum(sign(np.dot(w, x)) != label for x, label in zip(Xb, yb, strict=True))
            w, tau = batch_step(w, Xb, yb, variant, C * np.where(yb > 0, class_weight[1], class_weight[0]))
            taus.extend(tau)
    b = w[-1] if fit_intercept else 0.0
    return {
        "w": w[: X.shape[1] - bool(fit_intercept)],
        "b": b,
        "n_mistakes": n_mistakes,
        "taus": np.array(taus),
    }


# ---------------------------------------------------------------- a budget on the expansion


def budget_objective(change, p_t, K, y_t, C):
    """1/2 ||f - f_t||^2 + C max(0, 1 - y_t f(x_t)), where f - f_t = sum_i change_i K(x_i, .), t last."""
    return 0.5 * max(0.0, change @ K @ change) + C * max(0.0, 1 - y_t * (p_t + K[-1] @ change))


def budget_support(policy, K, r, include_new=False):
    """Which coefficients may change when r goes. removal: t; nearest: t and r's neighbour; projection: all.

    The neighbour minimises K_rr - 2 K_rj + K_jj over the old support vectors (with `include_new`: t as well);
    r itself never counts, so when r = t, removal changes nothing and nearest only t's neighbour.
    """
    t = len(K) - 1
    if policy == "projection":
        return [i for i in range(t + 1) if i != r]
    V = {t}
    if policy == "nearest":
        others = [j for j in range(t + 1 if include_new else t) if j != r]
        V |= {min(others, key=lambda j: K[r, r] - 2 * K[r, j] + K[j, j])} if others else set()
    return sorted(V - {r})


def budget_candidates(K, V, r, alpha_r, p_t, y_t, C):
    """The three places the optimum over beta can be: no loss (tau = 0), full step (tau = C), loss exactly 0.

    1/2 || -alpha_r k_r + sum_V beta_i k_i ||^2 + C hinge is stationary at K_VV beta = alpha_r K_Vr + tau y K_Vt
    with tau = 0, tau = C, or tau from the extra equation y f(x_t) = 1. Every beta is allowed, so the lowest
    objective among them is the minimum.
    """
    K_VV, K_Vt, goal = K[np.ix_(V, V)], y_t * K[V, -1], alpha_r * K[V, r]
    kink = np.block([[K_VV, -K_Vt[:, None]], [K_Vt[None, :], np.zeros((1, 1))]])
    right = np.r_[goal, 1 - y_t * (p_t - alpha_r * K[-1, r])]
    yield np.linalg.lstsq(K_VV, goal)[0]
    yield np.linalg.lstsq(K_VV, goal + C * K_Vt)[0]
    yield np.linalg.lstsq(kink, right)[0][:-1]


def budget_step(K, alpha, y_t, C, policy, include_new=False):
    """Budgeted PA-I (Wang and Vucetic) by trying every removal r, the new example t included.

    min_{r, beta} 1/2 ||f - f_t||^2 + C max(0, 1 - y_t f(x_t)), f = f_t - alpha_r k_r + sum_V beta_i k_i.
    K is the Gram matrix of the old support vectors and, last, t; alpha the old coefficients (t has 0).
    Returns dict(r, objective, coef, objectives, coefs): len(coef) = len(K), coef[r] = 0; lists run over r.
    """
    K, alpha = np.asarray(K, float), np.append(np.asarray(alpha, float), 0.0)
    p_t, objectives, coefs = float(K[-1] @ alpha), [], []
    for r in range(len(K)):
        V, options = budget_support(policy, K, r, include_new), []
        for beta in budget_candidates(K, V, r, alpha[r], p_t, y_t, C) if V else [np.zeros(0)]:
            change = np.zeros(len(K))
            change[r], change[V] = -alpha[r], beta
            options.append((budget_objective(change, p_t, K, y_t, C), change))
        value, change = min(options, key=lambda option: option[0])
        objectives.append(value)
        coefs.append(alpha + change)
        coefs[-1][r] = 0.0
    r = int(np.argmin(objectives))
    return {"r": r, "objective": objectives[r], "coef": coefs[r], "objectives": objectives, "coefs": coefs}


ONLINE = "an online learner moves once for a row of weight 2 and twice for a repeated one, as SGDClassifier does"


def expected_failed_checks(estimator):
    """The checks of scikit-learn that its own online learners cannot pass either, with the reason."""
    return {f"check_sample_weight_equivalence_on_{kind}_data": ONLINE for kind in ("dense", "sparse")}
