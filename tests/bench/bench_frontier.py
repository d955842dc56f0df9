"""Quality against time on ijcnn1: our learners and others, linear and with an RBF kernel.

Every method learns the same shuffled rows, and its time is that of the processor, all threads together. Its settings
are chosen by AUC on the last third of them, after learning the others. Timed is the learning of all 49,990 rows, the
features of a kernel included; the AUC is that of the test part.
The points are stored in `report/results/campaigns/08_frontier.json`, and notebook 08 draws them.
`python tests/bench/bench_frontier.py` measures these alone.
"""

import tempfile
import time
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import vowpalwabbit
from river import linear_model as river
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from bench import row
from pa_lab import KernelPAClassifier, PAClassifier, datasets
from pa_lab.study import store
from pa_lab.study.baselines import online
from pa_lab.study.experiments import draw
from pa_lab.study.metrics import measures

STRENGTHS = [4.0**k for k in range(-7, 4)]  # C of a linear method
WIDTHS = list(product([1.0, 4.0, 16.0, 64.0], [1 / 8, 1 / 2, 2.0, 8.0]))  # C and gamma of a kernel
PA_STEP = "--invariant --loss_function hinge --power_t 0 --min_prediction -1000 --max_prediction 1000"
PARSED = 1000  # rows that Vowpal Wabbit is given again and again, to time what it takes without parsing


class VowpalWabbit:
    """Vowpal Wabbit, which learns rows from a text file, from its own cache file, or parsed before."""

    def __init__(self, options, way, passes=1):
        self.options, self.way, self.passes = options + " --quiet", way, passes
        self.folder = tempfile.TemporaryDirectory()

    def prepare(self, X, y):
        """Write the rows to the file, make the cache file, or parse them."""
        lines = [
            f"{label} | " + " ".join(f"f{j}:{value:.9g}" for j, value in enumerate(x) if value)
            for x, label in zip(X, y, strict=True)
        ]
        file = Path(self.folder.name) / "rows.vw"
        file.write_text("\n".join(lines) + "\n")
        cached = f" -c --holdout_off --passes {self.passes}" if self.way == "cache" else ""
        self.command = f"{self.options} -d {file}{cached}"
        if self.way == "parsed":
            self.model = vowpalwabbit.Workspace(self.options)
            few = [self.model.example(line) for line in lines[:PARSED]]  # a parsed row takes 40 kB
            self.examples = (few * -(-len(lines) // PARSED))[: len(lines)]
        if self.way == "cache":
            self.fit()  # makes the file

    def fit(self):
        """Learn all rows."""
        if self.way == "parsed":
            for example in self.examples:
                self.model.learn(example)
        else:
            self.model = vowpalwabbit.Workspace(self.command)
            self.model.run_parser()

    def decision_function(self, X):
        """Score rows up to the intercept, which changes no ranking."""
        return X @ np.array([self.model.get_weight_from_name(f"f{j}") for j in range(X.shape[1])])


class River:
    """A linear model of river, which learns one dictionary at a time."""

    def __init__(self, make):
        self.make = make

    def prepare(self, X, y):
        """Make the dictionaries."""
        self.rows = [(dict(enumerate(x)), label > 0) for x, label in zip(X.tolist(), y, strict=True)]

    def fit(self):
        """Learn all rows."""
        self.model = self.make()
        for x, label in self.rows:
            self.model.learn_one(x, label)

    def decision_function(self, X):
        """Score rows up to the intercept, which changes no ranking."""
        return X @ np.array([self.model.weights[j] for j in range(X.shape[1])])


class Estimator:
    """An estimator of ours or of scikit-learn."""

    def __init__(self, model):
        self.model = model

    def prepare(self, X, y):
        """Keep the rows."""
        self.rows = X, y

    def fit(self):
        """Learn all rows."""
        self.model.fit(*self.rows)

    def decision_function(self, X):
        """Score rows."""
        return self.model.decision_function(X)


def sgd(C, loss, passes):
    """Return averaged SGD, with the penalty of an SVM with this C on 50,000 rows."""
    return SGDClassifier(loss=loss, alpha=1 / (50_000 * C), average=True, max_iter=passes, tol=None, random_state=0)


def averaged(C, **options):
    """Return averaged PA-I."""
    return PAClassifier(C=C, average=True, **options)


LINEAR = {  # library and method: a learner for each C
    ("pa_lab", "PA-I"): lambda C: Estimator(PAClassifier(C=C)),
    ("vowpalwabbit", "PA-I step, cache"): lambda C: VowpalWabbit(f"{PA_STEP} -l {C}", "cache"),
    ("vowpalwabbit", "PA-I step, text"): lambda C: VowpalWabbit(f"{PA_STEP} -l {C}", "text"),
    ("vowpalwabbit", "PA-I step, parsed before"): lambda C: VowpalWabbit(f"{PA_STEP} -l {C}", "parsed"),
    ("pa_lab", "PA-I averaged"): lambda C: Estimator(averaged(C)),
    ("pa_lab", "PA-I averaged, 5 passes"): lambda C: Estimator(averaged(C, max_iter=5, shuffle=True, random_state=0)),
    ("pa_lab", "AROW"): lambda C: Estimator(online("AROW", C=C)),
    ("pa_lab", "SCW-I"): lambda C: Estimator(online("SCW-I", C=C)),
    ("pa_lab", "AdaGrad averaged"): lambda C: Estimator(online("AdaGrad logistic", C=C, average=True)),
    ("scikit-learn", "SGD hinge"): lambda C: Estimator(sgd(C, "hinge", 1)),
    ("scikit-learn", "SGD logistic"): lambda C: Estimator(sgd(C, "log_loss", 1)),
    ("scikit-learn", "SGD logistic, 5 passes"): lambda C: Estimator(sgd(C, "log_loss", 5)),
    ("scikit-learn", "LIBLINEAR hinge"): lambda C: Estimator(LinearSVC(loss="hinge", C=C, tol=0.1, random_state=0)),
    ("scikit-learn", "LIBLINEAR logistic"): lambda C: Estimator(
        LogisticRegression(C=C, solver="liblinear", tol=0.1, random_state=0)
    ),
    ("vowpalwabbit", "its default, logistic, cache"): lambda C: VowpalWabbit(
        f"--loss_function logistic -l {C}", "cache"
    ),
    ("vowpalwabbit", "its default, 5 passes, cache"): lambda C: VowpalWabbit(
        f"--loss_function logistic -l {C}", "cache", 5
    ),
    ("river", "PA-I"): lambda C: River(lambda: river.PAClassifier(C=C, mode=1)),
}


def kernel(C, gamma, **options):
    """Return kernel PA-I, averaged where all vectors are kept."""
    return Estimator(KernelPAClassifier(C=C, gamma=gamma, average="budget" not in options, **options))


def features(C, gamma, make, size):
    """Return features that stand for a kernel, followed by a linear PA-I."""
    return Estimator(make_pipeline(make(gamma=gamma, n_components=size, random_state=0), averaged(C)))


def kernels():
    """Return what there is with a kernel: a learner for each C and gamma."""
    found = {("pa_lab", "kernel PA-I"): kernel}
    for size in (100, 1000):
        found["pa_lab", f"{size} landmarks"] = lambda C, gamma, m=size: kernel(C, gamma, landmarks=m)
        found["scikit-learn", f"{size} Nystroem + PA-I"] = lambda C, gamma, m=size: features(C, gamma, Nystroem, m)
        found["scikit-learn", f"{size} random + PA-I"] = lambda C, gamma, m=size: features(C, gamma, RBFSampler, m)
    found["pa_lab", "budget 100"] = lambda C, gamma: kernel(C, gamma, budget=100)
    found["scikit-learn", "LIBSVM"] = lambda C, gamma: Estimator(SVC(C=C, gamma=gamma, cache_size=500))
    return found


def auc(learner, X, y, Z, labels):
    """Learn rows, and return the AUC on others."""
    learner.prepare(X, y)
    learner.fit()
    return measures(labels, learner.decision_function(Z))["auc"]


def chosen(make, settings, X, y):
    """Return the setting with the best AUC on the last third of some rows."""
    cut = 2 * len(y) // 3
    if len(settings) == 1:
        return settings[0]
    scores = [auc(make(*setting), X[:cut], y[:cut], X[cut:], y[cut:]) for setting in settings]
    return settings[int(np.nanargmax(scores))]


def points(task, methods, settings, data, runs):
    """Measure methods: a row for each, with its median processor seconds over alternating runs."""
    X, y = draw(data.X_train, data.y_train, len(data.y_train), seed=0)
    found, learners, setting = [], {}, None
    for (library, method), make in methods.items():
        if "PA-I step" not in method:  # those take the steps of the method before them, and its setting
            setting = chosen(make, settings, X, y)
        learner = learners[library, method] = make(*setting)
        if method.endswith("parsed before"):
            learner.prepare(X, y)  # the steps, and so the quality, of the method before
        else:
            quality = auc(learner, X, y, data.X_test, data.y_test)
        found.append({"task": task, "library": library, "version": version(library.replace("pa_lab", "pa-lab")),
                      "method": method, "setting": ", ".join(f"{value:g}" for value in setting),
                      "auc": float(quality)})  # fmt: skip
    seconds = [[processor_seconds(learner.fit) for learner in learners.values()] for _ in range(runs)]
    for point, value in zip(found, np.median(seconds, axis=0), strict=True):
        point["seconds"] = float(value)
        row(f"{task}: {point['library']}, {point['method']}", 1e3 * value, "ms", f"AUC {point['auc']:.4f}")
    return found


def processor_seconds(run):
    """Return the seconds of all processors that a call takes, which depend less on what else they do."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    """Measure all points, and store them."""
    start, data = time.perf_counter(), datasets.load("ijcnn1")
    found = points("linear", LINEAR, [(C,) for C in STRENGTHS], data, runs=7)
    found += points("RBF kernel", kernels(), WIDTHS, data, runs=3)
    store.save_campaign("08_frontier", pd.DataFrame(found), [data], time.perf_counter() - start)


if __name__ == "__main__":
    main()
