"""The short name of `pa_lab.study.datasets`; ``python -m pa_lab.datasets`` lists, fetches and verifies the data."""

import sys

from pa_lab.study.datasets import *  # noqa: F403
from pa_lab.study.datasets import main

if __name__ == "__main__":
    sys.exit(main())
