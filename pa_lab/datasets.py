"""The short name of `pa_lab.study.datasets`; ``python -m pa_lab.datasets`` lists, fetches and verifies the data."""

import sys

from pa_lab.study import datasets

if __name__ == "__main__":
    sys.exit(datasets.main())
sys.modules[__name__] = datasets  # one module, whichever name it is imported by
