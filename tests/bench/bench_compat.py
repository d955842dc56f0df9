"""`pa_lab.compat` on ijcnn1 beside scikit-learn's own classes, where the installed release still has them."""

import warnings

import sklearn.linear_model

from bench import medians, row
from pa_lab import compat, datasets


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    X, y = data.X_train, data.y_train
    for name, target in (("PassiveAggressiveClassifier", y), ("PassiveAggressiveRegressor", X[:, -1])):
        theirs, ours = getattr(sklearn.linear_model, name, None), getattr(compat, name)
        if theirs is None:
            row(f"{name}: not in this release of scikit-learn", float("nan"))
            continue
        options = {"shuffle": False, "max_iter": 1, "tol": None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t = medians(
                {
                    "ours": lambda model=ours: model(**options).fit(X, target),  # noqa: B023
                    "theirs": lambda model=theirs: model(**options).fit(X, target),  # noqa: B023
                },
                runs=31,
            )
        row(f"compat.{name} over scikit-learn's", t["ours"] / t["theirs"], "times", "wanted: 0.9 to 1.1")


if __name__ == "__main__":
    main()
