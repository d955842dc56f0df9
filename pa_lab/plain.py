"""The passive-aggressive (PA) family as the papers print it, in plain NumPy. Read this file first.

Every algorithm below takes the same step. An example makes a demand: a margin of 1, a score close to its target, the
right class ahead of a wrong one. What is missing is the *loss*, and the score that is too low rises fastest along the
*direction*. The new weights are the closest ones to the old that meet the demand, or come as near to it as C allows::

    w <- w + step(loss, ||direction||^2, C, variant) * direction

The members of the family differ in the loss and the direction, nothing else. The compiled learners of this package do
the same, faster; the tests compare the two.

There are no options beyond those of the papers. The rest comes with the input: for an intercept append a column of
ones to X, for a second pass repeat the rows, for weights of classes or rows make C an array with one value per example.
Random numbers are handed in.

===== ====================================================================================================
C     aggressiveness, the price of slack: a small C means short steps
K     matrix of kernel values, K[i, j] = k(x_i, x_j)
W     weights of several classes, one row for each class
X, x  examples, one a row; one example
a     coefficients of a kernel expansion: the score function is the sum of a[i] k(x_i, .)
k     kernel values of one example
p     score w.x; its sign is the prediction
t     number of the example in the stream
w     weights
y     labels -1 and +1, classes 0, 1, ..., or real targets
===== ====================================================================================================

"loss" may be handed to `step` as a difference such as 1 - y p, which is below 0 where nothing is missing.

Sources: [PA] Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), Online Passive-Aggressive Algorithms, JMLR 7.
[PALS] Pérez-Suay, Ferri, Arevalillo-Herráez and Albert, An empirical study about online learning with generalized
passive-aggressive approaches. [PAA] Lu, Zhao and Hoi (2014), Online Passive-Aggressive Active Learning. [BPA] Wang and
Vucetic (2010), Online Passive-Aggressive Algorithms on a Budget.
"""

import numpy as np


def step(loss, squared_norm, C, variant):
    """Return tau, how far to move along a direction of this squared norm ([PA] section 3; [PALS] eqs. 5, 6 and 9).

    PA     min 1/2 ||v - w||^2            such that the loss of v is 0
    PA-I   min 1/2 ||v - w||^2 + C xi     such that the loss of v is at most xi, and xi >= 0
    PA-II  min 1/2 ||v - w||^2 + C xi^2   such that the loss of v is at most xi
    PALS   min 1/2 ||v - w||^2 + C xi^2   such that the loss of v is xi; of either sign, and so is the step
    """
    if squared_norm == 0:
        return 0.0
    if variant != "PALS":
        loss = max(0.0, loss)
    if variant == "PA":
        return loss / squared_norm
    if variant == "PA-I":
        return min(C, loss / squared_norm)
    if variant in ("PA-II", "PALS"):
        return loss / (squared_norm + 1 / (2 * C))
    raise ValueError(f'variant must be "PA", "PA-I", "PA-II" or "PALS"; got {variant!r}.')


# ---------------------------------------------------------------- one score: classification and regression


def hinge(p, y):
    """Return what is missing to a margin y p of 1, and the side to which the score has to move ([PA] eq. 1)."""
    return 1 - y * p, y


def costly(p, y, cost):
    """Return what is missing to a margin y p of the root of cost[y], and the side ([PA] section 8, two classes)."""
    return np.sqrt(cost[y]) - y * p, y


def tube(p, y, epsilon):
    """Return how far the score is from the interval y - epsilon .. y + epsilon, and the side ([PA] section 5)."""
    return abs(y - p) - epsilon, np.sign(y - p)


def linear(X, y, C=1.0, variant="PA-I", loss=hinge, **given):
    """Learn a linear classifier or, with ``loss=tube, epsilon=...``, a linear regression ([PA] sections 3 and 5).

    Returns the weights after each example, of shape (n, d): the last row is what has been learnt.
    """
    w, path = np.zeros(X.shape[1]), []
    for x, label, c in zip(X, y, np.broadcast_to(C, len(X)), strict=True):
        missing, side = loss(w @ x, label, **given)
        w = w + step(missing, x @ x, c, variant) * side * x
        path.append(w)
    return np.array(path)


def average(path, half_life=np.inf):
    """Return the mean of the weights after each example: steadier than the last ones.

    An example counts half as much for every ``half_life`` examples that came after it.
    """
    age = np.arange(len(path))[::-1]
    return np.average(path, axis=0, weights=0.5 ** (age / half_life))


def active(X, y, draws, delta=1.0, C=1.0, variant="PA-I"):
    """Ask for a label with probability ``delta / (delta + |p|)``, and learn from it alone ([PAA] Algorithm 1).

    ``draws`` has a uniform random number for each example. Returns the weights after each example, and which labels
    were asked for.
    """
    w, path, asked = np.zeros(X.shape[1]), [], np.zeros(len(X), bool)
    for t, c in enumerate(np.broadcast_to(C, len(X))):
        p = w @ X[t]
        asked[t] = draws[t] < delta / (delta + abs(p))
        if asked[t]:
            w = w + step(1 - y[t] * p, X[t] @ X[t], c, variant) * y[t] * X[t]
        path.append(w)
    return np.array(path), asked


def least_squares_batch(X, y, size, C=1.0):
    """Learn from ``size`` examples at a time, each asked for a margin of exactly 1 ([PALS] section 3.2, BPALS).

    The steps of a batch solve (A + I / (2 C)) tau = loss with A[i, j] = y_i y_j x_i.x_j. (Eq. 19 prints 1 / C, which
    does not follow from its problem.) Returns the weights after each batch.
    """
    w, path, C = np.zeros(X.shape[1]), [], np.broadcast_to(C, len(X))
    for start in range(0, len(X), size):
        batch = slice(start, start + size)
        Z = y[batch, np.newaxis] * X[batch]
        tau = np.linalg.solve(Z @ Z.T + np.diag(1 / (2 * C[batch])), 1 - Z @ w)
        w = w + tau @ Z
        path.append(w)
    return np.array(path)


# ---------------------------------------------------------------- kernels


def kernel(K, y, C=1.0, variant="PA-I", loss=hinge, **given):
    """Learn a sum of kernel functions: each step adds one, at its example ([PA] section 3; [PALS] section 3.3).

    ``K`` holds the kernel values of all examples with each other, and K[t, t] takes the place of ||x||^2. Returns the
    coefficients.
    """
    a = np.zeros(len(K))
    for t, c in enumerate(np.broadcast_to(C, len(K))):
        missing, side = loss(K[t] @ a, y[t], **given)
        a[t] = step(missing, K[t, t], c, variant) * side
    return a


def average_coefficients(a):
    """Return the mean of the coefficients after each example: number t (from 0) is in n - t of n expansions."""
    return a * np.arange(len(a), 0, -1) / len(a)


def landmarks(K, values, y, C=1.0, variant="PA-I", loss=hinge, **given):
    """Learn a sum of kernel functions at fixed landmarks; the step is exact among such sums.

    ``K`` holds the kernel values of the landmarks with each other, a row of ``values`` those of an example with the
    landmarks. The direction is the example's kernel function projected on the sums. Returns the coefficients after
    each example.
    """
    a, path = np.zeros(len(K)), []
    for k, label, c in zip(values, y, np.broadcast_to(C, len(y)), strict=True):
        missing, side = loss(k @ a, label, **given)
        direction = np.linalg.solve(K, k)
        a = a + step(missing, k @ direction, c, variant) * side * direction
        path.append(a)
    return np.array(path)


def free_to_change(K, r, policy):
    """Return which coefficients may change when vector r goes; the newest vector is the last ([BPA]).

    "removal": the newest. "nearest": the newest, and the old vector nearest to r. "projection": all.
    """
    others = [i for i in range(len(K)) if i != r]
    if policy == "projection":
        return others
    newest, old = others[-1:] if r < len(K) - 1 else [], [i for i in others if i < len(K) - 1]
    if policy == "removal" or not old:
        return newest
    return [min(old, key=lambda i: K[i, i] - 2 * K[i, r]), *newest]


def give_up(K, a, y, C, r, policy):
    """Return the PA-I objective, and the coefficients, of the best step that gives up vector r ([BPA]).

    The part of r that the free vectors span is kept, and the step goes along the part of the newest that they span.
    """
    free, after = free_to_change(K, r, policy), a.copy()
    spanned = np.linalg.lstsq(K[np.ix_(free, free)], K[free])[0]  # every vector, as a sum of the free ones
    after[r] = 0.0
    after[free] += a[r] * spanned[:, r]
    tau = step(1 - y * (K[-1] @ after), K[-1, free] @ spanned[:, -1], C, "PA-I")
    after[free] += tau * y * spanned[:, -1]
    change = after - a
    return change @ K @ change / 2 + C * max(0.0, 1 - y * (K[-1] @ after)), after


def budget(K, y, size, policy="projection", C=1.0):
    """Learn as `kernel` with PA-I, from at most ``size`` vectors: the cheapest to lose goes ([BPA]).

    Returns the numbers of the examples held and their coefficients.
    """
    held, a = [], np.zeros(0)
    for t in range(len(y)):
        tau = step(1 - y[t] * (K[t, held] @ a), K[t, t], C, "PA-I")
        if tau == 0:
            continue
        if len(held) < size:
            held, a = [*held, t], np.append(a, tau * y[t])
            continue
        now = [*held, t]
        values, a = K[np.ix_(now, now)], np.append(a, 0.0)
        options = [give_up(values, a, y[t], C, r, policy) for r in range(size + 1)]
        r = int(np.argmin([objective for objective, _ in options]))
        held, a = now[:r] + now[r + 1 :], np.delete(options[r][1], r)
    return held, a


# ---------------------------------------------------------------- the rest of the family: a loss and a direction each


def learn(problem, w, examples, C=1.0, variant="PA-I", **given):
    """Pass the examples through any ``problem(w, *example, **given)`` that gives a loss and a direction.

    ``w`` holds the first weights. Returns the weights after each example. Uniclass, costs of the predicted class and
    sequences ([PA] sections 6, 8 and 9) are such problems too: docs/guide/family.md has their code.
    """
    path = []
    for example, c in zip(examples, np.broadcast_to(C, len(examples)), strict=True):
        loss, direction = problem(w, *example, **given)
        w = w + step(loss, np.sum(direction**2), c, variant) * direction
        path.append(w)
    return np.array(path)


def rival(W, x, right, wrong, goal):
    """Return loss and direction of the demand W[right].x - W[wrong].x >= goal; the squared norm is 2 ||x||^2."""
    direction = np.zeros_like(W)
    direction[right] += x
    direction[wrong] -= x
    return goal - (W[right] - W[wrong]) @ x, direction


def multiclass(W, x, y):
    """Set the right class against the highest-scoring wrong one ([PA] section 7)."""
    return ranking(W, x, np.arange(len(W)) == y)


def ranking(W, x, relevant):
    """Rank all relevant classes above the others: the lowest of the former, the highest of the latter ([PA] section 7).

    ``relevant`` has True for each class that belongs to the example; neither all nor none.
    """
    scores = W @ x
    right, wrong = np.argmin(np.where(relevant, scores, np.inf)), np.argmax(np.where(relevant, -np.inf, scores))
    return rival(W, x, right, wrong, 1.0)


def max_loss(W, x, y, cost):
    """Set the right class against the one for which the loss is greatest ([PA] section 8, ML)."""
    worst = np.argmax(W @ x + np.sqrt(cost[y]))
    return rival(W, x, y, worst, np.sqrt(cost[y, worst]))
