"""Fits of SCW-I on ijcnn1, with a whole covariance and with its diagonal, against one of PA-I."""

from time import process_time

from bench import medians, row
from pa_lab import datasets
from pa_lab.study.baselines import online


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    models = {"PA-I": online("PA-I")} | {kind: online("SCW-I", covariance=kind) for kind in ("full", "diagonal")}
    fits = {name: lambda model=model: model.fit(data.X_train, data.y_train) for name, model in models.items()}
    t = medians(fits, runs=101, clock=process_time)
    row("PAClassifier.fit, PA-I, C 1, 49,990 rows", t["PA-I"] * 1e3, "ms")
    row("SCW-I with full covariance over PA-I", t["full"] / t["PA-I"], "times", "wanted: below 20")
    row("SCW-I with diagonal covariance over PA-I", t["diagonal"] / t["PA-I"], "times", "wanted: below 4")


if __name__ == "__main__":
    main()
