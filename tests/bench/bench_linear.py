"""Linear PA on ijcnn1 against scikit-learn, against reading the data once, and against river."""

import numpy as np
from river import linear_model
from sklearn.linear_model import SGDClassifier

from bench import medians, row
from pa_lab import PAClassifier, datasets
from pa_lab.passes import Examples, State, Way, run
from pa_lab.queries import ASK_ALL, N_COUNTERS
from pa_lab.rows import make_rows
from pa_lab.rules import make_rule


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    X, y = data.X_train, data.y_train
    labels, C, river_rows = y.astype(float), np.ones(len(y)), 5000

    def loop():
        state = State(
            np.zeros((X.shape[1] + 1, 1)), np.empty((X.shape[1] + 1, 0)), np.zeros(N_COUNTERS, dtype=np.int64)
        )
        run(make_rows(X), Examples(labels, C), Way(make_rule("PA-I"), ASK_ALL), state)

    one_pass = {"loss": "hinge", "penalty": None, "shuffle": False, "max_iter": 1, "tol": None, "fit_intercept": False}
    sgd = SGDClassifier(learning_rate="pa1", eta0=1.0, **one_pass)
    t = medians(
        {
            "fit": lambda: PAClassifier(fit_intercept=False).fit(X, labels),
            "loop": loop,
            "sgd": lambda: sgd.fit(X, labels),
            "sum": X.sum,
        },
        runs=31,
    )
    records = [(dict(enumerate(x)), bool(label > 0)) for x, label in zip(X[:river_rows], y[:river_rows], strict=True)]

    def river():
        model = linear_model.PAClassifier(C=1.0, mode=1, learn_intercept=False)
        for x, label in records:
            model.learn_one(x, label)

    slow = medians({"river": river}, runs=7)["river"]
    row("PAClassifier.fit, PA-I, C 1, 49,990 rows", t["fit"] * 1e3, "ms")
    row("SGDClassifier(learning_rate='pa1') over PAClassifier.fit", t["sgd"] / t["fit"], "times", "wanted: over 2")
    row("SGDClassifier(learning_rate='pa1') over the compiled loop", t["sgd"] / t["loop"], "times", "wanted: over 4")
    row("the compiled loop over X.sum(), reading the data once", t["loop"] / t["sum"], "times", "wanted: below 2.5")
    per_row = (slow / river_rows) / (t["fit"] / len(y))
    row("river's PAClassifier over PAClassifier.fit, per row", per_row, "times", "wanted: over 300")


if __name__ == "__main__":
    main()
