"""Wide sparse rows and single rows: many classes at once, one row at a time, and the size of a model."""

import pickle

import numpy as np
import scipy.sparse as sp
from river import linear_model
from sklearn.linear_model import SGDClassifier

from bench import medians, row
from pa_lab import PAClassifier

ONE_PASS = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0, "max_iter": 1, "tol": None}


def main():
    """Print the ratios."""
    many_classes()
    for n_classes in (2, 20):
        for average in (False, True):
            one_sparse_row(n_classes, average)
    one_dense_row()
    one_row_as_people_write_it()
    blocks_of_text()


def many_classes():
    """Twenty classes in CSR rows, against one epoch of one-against-rest."""
    rng = np.random.default_rng(0)
    X = sp.random(5000, 20_000, density=0.005, format="csr", rng=rng)
    y = rng.integers(0, 20, 5000)
    sgd = SGDClassifier(shuffle=False, **ONE_PASS)
    t = medians({"pa": lambda: PAClassifier().fit(X, y), "sgd": lambda: sgd.fit(X, y)}, runs=5)
    row("20 classes, 5,000 CSR rows: SGDClassifier's epoch over fit", t["sgd"] / t["pa"], "times", "wanted: over 1")


def one_sparse_row(n_classes, average):
    """One CSR row at a time: against SGDClassifier, and from 2^10 to 2^20 features."""
    rng, seconds = np.random.default_rng(0), {}
    for power in (10, 20):
        rows = sp.random(20, 2**power, density=50 / 2**power, format="csr", rng=rng)
        rows, y = [rows[[i]] for i in range(20)], rng.integers(0, n_classes, 20)
        models = {"pa": PAClassifier(average=average), "sgd": SGDClassifier(average=average, **ONE_PASS)}
        for model in models.values():
            model.partial_fit(rows[0], y[:1], classes=np.arange(n_classes))

        def learn(model, rows=rows, y=y):
            for i in range(20):
                model.partial_fit(rows[i], y[i : i + 1])

        t = medians({name: lambda m=model: learn(m) for name, model in models.items()}, runs=5)
        seconds[power] = t["pa"] / 20
        sizes = [len(pickle.dumps(model)) for model in models.values()]
    what = f"{n_classes} classes{', averaged' if average else ''}, 2^20 features"
    row(f"one CSR row, {what}: SGDClassifier over partial_fit", t["sgd"] / t["pa"], "times", "wanted: over 1")
    row("  partial_fit from 2^10 to 2^20 features", seconds[20] / seconds[10], "times")
    row("  pickle over SGDClassifier's", sizes[0] / sizes[1], "times", "wanted: at most 1.01")


def one_dense_row():
    """One dense row at a time, against SGDClassifier and river."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 30)), rng.integers(0, 2, 200)
    pa, sgd = PAClassifier(), SGDClassifier(**ONE_PASS)
    records = [dict(enumerate(x)) for x in X]

    def by_rows(model):
        for i in range(200):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])

    def by_dictionaries():
        model = linear_model.PAClassifier(C=1.0, mode=1)
        for record, label in zip(records, y, strict=True):
            model.learn_one(record, bool(label))

    t = medians({"pa": lambda: by_rows(pa), "sgd": lambda: by_rows(sgd), "river": by_dictionaries}, runs=7)
    row("one dense row of 30, partial_fit", t["pa"] / 200 * 1e6, "µs")
    row("one dense row: SGDClassifier over partial_fit", t["sgd"] / t["pa"], "times", "wanted: over 3")
    row("one dense row: river's learn_one over partial_fit", t["river"] / t["pa"], "times")


def one_row_as_people_write_it():
    """One row, and its label, as an array, as a list, as text, against arrays; asking against predicting."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 30)), rng.integers(0, 2, 200)
    rows, labels, names = X.tolist(), y.tolist(), np.where(y > 0, "on", "off").tolist()
    model, text = PAClassifier().fit(X, y), PAClassifier().fit(X, names)
    ask = PAClassifier(query="margin", delta=0.01, random_state=0).fit(X, y)

    def each(call):
        return lambda: [call(i) for i in range(200)]

    t = medians({
        "arrays": each(lambda i: model.partial_fit(X[i : i + 1], y[i : i + 1])),
        "a list for the label": each(lambda i: model.partial_fit(X[i : i + 1], [labels[i]])),
        "text for the label": each(lambda i: text.partial_fit(X[i : i + 1], [names[i]])),
        "a list for the row": each(lambda i: model.partial_fit([rows[i]], y[i : i + 1])),
        "predict": each(lambda i: model.predict(X[i : i + 1])),
        "should_query": each(lambda i: ask.should_query(X[i : i + 1])),
        "predict, a list for the row": each(lambda i: model.predict([rows[i]])),
    }, runs=15)  # fmt: skip
    for name in ("a list for the label", "text for the label", "a list for the row"):
        row(f"one row, partial_fit: {name} over arrays", t[name] / t["arrays"], "times", "wanted: at most 1.5")
    name = "predict, a list for the row"
    row(f"one row, {name} over an array", t[name] / t["predict"], "times", "wanted: at most 1.5")
    row("one row, should_query over predict", t["should_query"] / t["predict"], "times", "wanted: at most 2")


def blocks_of_text():
    """Rows as of text in blocks of 1, 32 and 1,000, against SGDClassifier."""
    X = sp.random(1000, 2**18, density=70 / 2**18, format="csr", rng=np.random.default_rng(0))
    y = np.random.default_rng(1).integers(0, 2, 1000)
    for size in (1, 32, 1000):
        models = {"pa": PAClassifier(), "sgd": SGDClassifier(**ONE_PASS)}

        def learn(model, size=size):
            for start in range(0, 1000, size):
                model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])

        t = medians({name: lambda m=model: learn(m) for name, model in models.items()}, runs=3)
        row(f"1,000 rows of text in blocks of {size}: microseconds a row", t["pa"] * 1e3, "µs")
        row("  SGDClassifier over partial_fit", t["sgd"] / t["pa"], "times", "wanted: over 1" if size == 1000 else "")


if __name__ == "__main__":
    main()
