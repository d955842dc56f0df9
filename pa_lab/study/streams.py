"""What it costs to read the newswire: processor time of hashing and of learning, and memory."""

import sys
import time

import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer

from pa_lab.study import datasets, newswire


def reading_cost(models, topic="acq", block=1000):
    """Read the newswire once, block by block, as one would from a wire: hash a block, let each model learn it.

    Call it through `experiments.apart`, so that the memory is that of this one run.

    Parameters
    ----------
    models : dict of str to estimator. Anything with ``partial_fit``; they learn the same blocks in turn.
    topic : str, default="acq"
    block : int, default=1000. Stories in a block.

    Returns a frame with a row per full block: ``hashing`` and a column for each model, in seconds of processor time,
    and ``peak_mb``, the most memory this process has held so far.
    """
    stories = datasets.load("reuters21578").stories
    y = newswire.labels(stories, topic)
    hashing, rows = HashingVectorizer(n_features=2**18, alternate_sign=False), []
    for start in range(0, len(stories) - block + 1, block):
        part = slice(start, start + block)
        times = {}
        times["hashing"], X = _seconds(hashing.transform, stories["text"][part])
        for name, model in models.items():
            times[name], _ = _seconds(model.partial_fit, X, y[part], [-1, 1])
        rows.append(times | {"peak_mb": _peak_mb()})
    return pd.DataFrame(rows)


def _seconds(function, *args):
    start = time.process_time()
    result = function(*args)
    return time.process_time() - start, result


def _peak_mb():
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
