"""What asking costs: a pass over ijcnn1 that asks for some labels against one that reads them all."""

from bench import medians, row
from pa_lab import PAClassifier, datasets

RULES = {
    "all": {"query": "all"},
    "margin, delta 1": {"query": "margin", "delta": 1.0},
    "margin, delta 1/64": {"query": "margin", "delta": 1 / 64},
    "random, a tenth": {"query": "random", "query_rate": 0.1},
    "threshold 0.5": {"query": "threshold", "delta": 0.5},
    "margin, 500 labels": {"query": "margin", "label_budget": 500},
}


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    models = {name: PAClassifier(random_state=0, **rule) for name, rule in RULES.items()}
    fits = {name: lambda model=model: model.fit(data.X_train, data.y_train) for name, model in models.items()}
    t = medians(fits, runs=31)
    for name, model in models.items():
        if name != "all":
            row(f"{name} ({model.n_queries_:,} labels) over all labels", t[name] / t["all"], "times", "wanted: below 2")


if __name__ == "__main__":
    main()
