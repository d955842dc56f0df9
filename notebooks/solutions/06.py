"""Solutions to the exercises of notebook 06."""

import numpy as np

from pa_lab import plain
from pa_lab.study import toy
from solutions import exercise


def apart(C):
    """How far the last weights of PALS with B = 1 and B = 3 lie apart."""
    X, y = toy.stream()
    ends = [plain.least_squares_batch(X, y, B, C)[-1] for B in (1, 3)]
    return np.linalg.norm(ends[1] - ends[0])


@exercise("6.1", within=0.05)
def a_small_C():
    """Set C to 0.01 in the loop."""
    yield (
        apart(0.01),
        "The ridge is 50: the inner products hardly count beside it.",
    )
    yield apart(1.0), "That is the distance for C = 1."
    yield 0.0, "Close, but a batch still scores its rows by older weights."


@exercise("6.2")
def one_row_with_both_labels():
    """Put the same row into a batch with both labels."""
    yield "not at all", "Both losses are equal, so the two steps are equal and cancel."
    yield "towards the first", "The rows of a batch have no order."
    yield "towards the second", "That is what single steps do: the last row wins."


def draw(rng):
    """Draw a batch of labelled rows z, weights and C."""
    return rng.normal(size=(4, 3)), rng.normal(size=3), rng.uniform(0.1, 2)


@exercise("6.3", inputs=draw)
def batch_step():
    """Write the step of PALS for a batch."""

    def with_ridge(part):
        def step(Z, w, C):
            A = Z @ Z.T + np.eye(len(Z)) / (part * C)
            return w + np.linalg.solve(A, 1 - Z @ w) @ Z

        return step

    def each_alone(Z, w, C):
        return w + (1 - Z @ w) / (np.sum(Z**2, axis=1) + 1 / (2 * C)) @ Z

    yield with_ridge(2), "Four rows, one linear system."
    yield with_ridge(1), "That is the printed ridge, 1 / C; the problem has 1 / (2 C)."
    yield (
        each_alone,
        "Here each row steps as if it were alone: the off-diagonal of A is missing.",
    )


@exercise("6.4")
def rows_at_a_right_angle():
    """Two rows with the inner product 0: A is diagonal."""
    yield "the same", "Off the diagonal A is 0, so each row has its own step."
    yield "longer", "Neither step changes the loss of the other row."
    yield "shorter", "A batch is shorter where its rows point the same way."


@exercise("6.5", within=0.01)
def averaged_batches():
    """Average the weights after each batch of three."""
    path = plain.least_squares_batch(*toy.stream(), 3, 1.0)
    yield path.mean(axis=0), "Shorter than the last: the weights begin at 0."
    yield path[-1], "Those are the last weights; did you append copies?"
    yield path[:-1].mean(axis=0), "The last batch, of a single row, counts too."
