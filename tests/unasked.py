"""No label is read that was not asked for. `test_without_numba` runs this: compiled loops read no Python objects."""

import numpy as np
import pytest
import scipy.sparse as sp

from pa_lab.passes import IN_ORDER, NO_TRACE, Examples, State, Way, as_loops_take, learn
from pa_lab.queries import N_COUNTERS, NO_LIMIT, QUERIES, Asking
from pa_lab.rows import make_rows
from pa_lab.rules import make_rule
from test_active import draws_of, each_rule, stream


class Guarded:
    """Labels that raise when one is read that was not asked for."""

    def __init__(self, y, allowed):
        self.y, self.allowed, self.read = y, set(allowed), []
        self.shape = y.shape

    def __getitem__(self, i):
        if i not in self.allowed:
            raise AssertionError(f"label {i} was read unasked")
        self.read.append(int(i))
        return self.y[i]


@each_rule
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_no_label_is_read_unasked(rule, n_classes, sparse):
    X, y = stream(80, n_classes)
    codes = (2 * y - 1 if n_classes == 2 else y).astype(float)
    rows = make_rows(sp.csr_array(X) if sparse else X, 1.0)
    asking = Asking(QUERIES.index(rule["query"]), draws_of(0, 80), rule.get("delta", 1.0),
                    rule.get("query_rate", 0.0), rule.get("label_budget", NO_LIMIT))  # fmt: skip

    def run(function, labels, record):
        W, lanes = as_loops_take(np.zeros((5, 1 if n_classes == 2 else n_classes)))
        state = State(W, None, np.zeros(N_COUNTERS, dtype=np.int64))
        examples, way = Examples(labels, np.ones(80), IN_ORDER, record), Way(make_rule("PA-I"), asking)
        function(rows, examples, way, state, lanes, None, None, (0, 80))
        return W

    record = np.zeros((80, 4))
    expected = run(learn, codes, record)
    asked = np.flatnonzero(~np.isnan(record[:, 1]))
    guarded = Guarded(codes, asked)
    np.testing.assert_allclose(run(learn, guarded, NO_TRACE), expected, atol=1e-12)
    assert guarded.read == asked.tolist()
    with pytest.raises(AssertionError, match="read unasked"):
        run(learn, Guarded(codes, asked[:-1]), NO_TRACE)
