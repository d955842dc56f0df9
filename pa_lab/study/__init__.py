"""What the notebooks and the report share: data, experiments, statistics and figures. No learner imports it."""

from importlib.util import find_spec

_MISSING = [name for name in ("pandas", "matplotlib", "pooch", "tqdm") if find_spec(name) is None]
if _MISSING:
    raise ImportError(f"pa_lab.study needs {', '.join(_MISSING)}: in a clone of the project  pip install '.[study]'  "
                      "brings them")  # fmt: skip
