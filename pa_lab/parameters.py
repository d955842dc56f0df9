"""What each parameter of the learners means, told once: their docstrings are filled in from here."""

import inspect
import re

PARAMETERS = """\
variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
    The rule for the step size; see `pa_lab.rules`. In regression PALS is PA-II with ``epsilon`` taken as 0.
C : float > 0, default=1.0
    Aggressiveness: the price of slack. PA ignores it. A step moves the score of its own row by at most C times the
    squared norm of the row, so C is on the scale of the features and, in regression, in units of ``y``: for targets in
    thousands scale ``y`` (`sklearn.compose.TransformedTargetRegressor`), or raise C and ``epsilon`` with it.
fit_intercept : bool, default=True
    Learn an intercept, as a weight on a constant feature.
intercept_scaling : float > 0, default=1.0
    Value of that constant feature. On rows of length 1, such as TF-IDF, a constant of 1 is as large as the whole
    row and takes half of every step; a smaller one, for example 0.1, leaves the step to the words. Where labels are
    few or a class is rare, 1 may rank better.
average : bool, default=False
    Predict with the mean of the weights after each example instead of the last weights; not with ``budget``.
half_life : float > 0 or None, default=None
    With ``average``, how fast the mean forgets: an example counts half as much for every ``half_life`` examples that
    came after it. None is the plain mean; with less than one example little but the last weights is left.
max_iter : int >= 1, default=1
    Passes over the data made by `fit`.
tol : float >= 0 or None, default=None
    Stop when the mean loss of a pass has not fallen by this much for ``n_iter_no_change`` passes; None makes all
    ``max_iter`` passes. With ``early_stopping`` the held-out rows take their place.
n_iter_no_change : int >= 1, default=5
    Passes without improvement before stopping.
early_stopping : bool, default=False
    Judge the passes on rows held out from learning: by the share predicted wrongly, in regression by the mean
    squared error.
validation_fraction : float in (0, 1), default=0.1
    Share of the rows held out with ``early_stopping``.
shuffle : bool, default=False
    Whether `fit` draws a new order of the rows for each pass. The algorithm reads rows in the order given, which
    is right for a stream; rows sorted by class need True.
class_weight : dict, "balanced" or None, default=None
    Factors on ``C``, by class; not with PA, which has no ``C``. They act through the steps that C shortens, which
    ``n_capped_`` counts. On rows of some ten standardised features or more C = 1 shortens hardly any, and weights do
    nothing (`fit` warns): choose a smaller C, or give ``cost``.
cost : dict, array of shape (n_classes, n_classes) or None, default=None
    What it costs to predict a wrong class: a number above 0 for rows of each class, 1 if left out, or a matrix with the
    right class in rows and the predicted one in columns, in the order of ``classes_``. The margin asked for is the root
    of the cost, which acts where C does not cut the steps (Crammer et al., section 8); not with ``multi_class="ovr"``.
multi_class : {"direct", "ovr"}, default="direct"
    With more than two classes, one problem that sets the right class against the highest-scoring wrong one
    (Crammer et al., section 7), or one problem for each class against the rest. "direct" makes fewer updates and
    is usually the better in one pass; "ovr" suits classes that overlap and scores to be read one by one.
batch_size : int >= 1, default=1
    Rows that share one update, the exact solution of their joint problem (Pérez-Suay et al., section 3.2; see
    `pa_lab.batch`); not with ``budget`` or with ``variant="PA"``, whose joint constraints may contradict each other.
    Scores, queries and mistakes are those of the weights before the batch; only the labels asked for enter the problem;
    ``n_updates_`` counts examples with a step; ``average`` counts the weights after the batch for each of its
    rows. A batch never spans two calls: a last one with fewer rows is processed as it is.
query : {"all", "margin", "random", "threshold"}, default="all"
    Which labels to ask for: every one, with probability ``delta / (delta + |p|)``, with a fixed rate, or exactly
    where ``|p| <= delta``. A label not asked for is not used. Each of several passes asks anew, and a label asked
    for again counts again, so that one pass is the rule here.
delta : float > 0 or "auto", default=1.0
    Smoothing of ``query="margin"``, for which the theory of Lu, Zhao and Hoi (2014) wants at least 1, and the bound of
    ``query="threshold"``, which may stop asking for good where all scores are beyond it. "auto", for
    ``query="margin"`` in one pass, steers delta so that ``label_budget`` lasts for ``n_rows`` rows: every 32 rows it is
    solved for anew from the last 256 scores, so that it follows a change of the scores within some hundred rows. Never
    more than the budget is asked for and, if as many rows come as ``n_rows`` says, never less. One question in ten is
    asked at random, see `pa_lab.queries.steered`.
query_rate : float in [0, 1] or None, default=None
    Probability of asking with ``query="random"``, or the share of the rows to ask for with ``delta="auto"`` on a
    stream without end.
label_budget : int >= 0 or None, default=None
    Number of labels after which no more are asked for; with ``query="all"`` these are the first of the stream. With
    ``average`` later rows do not count in the mean.
n_rows : int >= 1 or None, default=None
    Rows that ``delta="auto"`` spreads the budget over; None takes those of `fit`. `partial_fit` needs a number.
warm_start : bool, default=False
    Let `fit` go on from the weights and counters of the last call.
random_state : int, RandomState, Generator or None, default=None
    Seeds the orders, the queries and the clusters of landmarks.
epsilon : float >= 0, default=0.1
    Half-width of the tube, in units of ``y``.
kernel : {"linear", "poly", "rbf", "laplacian", "precomputed"} or callable, default="rbf"
    As in scikit-learn. A callable takes two arrays of rows and returns the matrix of kernel values. With
    "precomputed", `fit` takes the square matrix of kernel values of the training rows, and `predict` one row for
    each new example: its kernel values with all training rows. The exact step needs a positive semidefinite
    kernel.
gamma : {"scale", "auto"} or float > 0, default="scale"
    Factor in all kernels but "linear"; "scale" is ``1 / (n_features * X.var())`` and "auto" ``1 / n_features``,
    taken from the rows of the first call: in a stream of single rows pass a number.
degree : int >= 0, default=3
    Degree of "poly".
coef0 : float, default=0.0
    Constant of "poly".
landmarks : int >= 1, array of shape (m, n_features) or None, default=None
    Keep the hypothesis in the span of this many rows, or of the rows given; with "precomputed", give the numbers
    of the rows. Landmarks that the others span up to rounding are left out.
landmark_choice : {"start", "kmeans"}, default="start"
    Which rows an integer stands for: the first ones of the stream, or the means of so many clusters of its first
    ``10 m`` rows. All of them must be in the first call.
landmark_norm : {"kernel", "euclidean"}, default="kernel"
    The norm in which a step changes the hypothesis least. With "kernel" it is the exact step in the span,
    ``tau = loss / (k' K^-1 k [+ 1/(2C)])``. With "euclidean" the row ``k`` of kernel values serves as features of
    the linear learner.
budget : int >= 1 or None, default=None
    Never hold more vectors than this.
budget_policy : {"removal", "nearest", "projection", "oldest", "smallest"}, default="projection"
    Which vector goes when one more would be too many. The first three solve the problem of Wang and Vucetic
    (2010), with new coefficients for the example alone, for it and the nearest vector, or for all vectors (see
    `pa_lab.budget`). An update costs O(b), about O(b) and O(b^2). "oldest" drops the vector that came first,
    "smallest" the one with the least coefficient.
n_jobs : int or None, default=None
    Threads that compute kernel values, as in scikit-learn: None means 1, -1 all processors. The results do not
    depend on it. A callable kernel is called from one thread.
"""


def documented(cls):
    """Fill in ``{parameters}`` in the docstring of an estimator with what its parameters mean, in their order."""
    told = dict(re.findall(r"^(\w+)( : .*\n(?:    .*\n)+)", PARAMETERS, re.MULTILINE))
    names = list(inspect.signature(cls.__init__).parameters)[1:]
    text = "Parameters\n----------\n" + "".join(name + told[name] for name in names)
    text = text.replace("\n", "\n    ").rstrip()
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text)  # there is none under python -OO
    return cls
