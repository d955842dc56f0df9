"""What a batch costs: linear passes over ijcnn1 by batch size."""

from bench import medians, row
from pa_lab import PAClassifier, datasets

SIZES = (1, 2, 4, 8, 20, 64)


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    X, y = data.X_train, data.y_train.astype(float)
    for variant in ("PA-I", "PA-II", "PALS"):
        models = {B: PAClassifier(variant, C=0.1, batch_size=B) for B in SIZES}
        t = medians({B: lambda model=model: model.fit(X, y) for B, model in models.items()}, runs=11)
        row(f"{variant}, B = 1, 49,990 rows", t[1] * 1e3, "ms")
        for B in SIZES[1:]:
            row(f"{variant}, B = {B} over B = 1", t[B] / t[1], "times", "wanted: at most 10" if B == 8 else "")


if __name__ == "__main__":
    main()
