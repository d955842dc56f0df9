"""`tests/faults/again.py`: what it takes for the same, for rounded, and for different."""

import json

import pytest

from again import compared


def run(auc, figure="<path d='1.5 2.25'/>", name="05_kernel_pa"):
    return {
        f"report/results/{name}.json": json.dumps({"auc": [auc], "n": 3, "method": "exact"}).encode(),
        f"figures/{name}.svg": figure.encode(),
    }


@pytest.mark.parametrize(
    ("other", "outcomes"),
    [
        (run(0.5), ["same", "same"]),
        (run(0.500001, "<path d='1.5 2.2501'/>"), ["rounded", "rounded"]),
        (run(0.5, "<path d='1.5 3.25'/>"), ["DIFFERENT", "same"]),
        (run(0.5, "<path d='1.5'/>"), ["DIFFERENT", "same"]),
        (run(0.52), ["same", "DIFFERENT"]),
        (run(0.5, name="06_other"), ["DIFFERENT"] * 4),
    ],
)
def test_outcomes(other, outcomes):
    assert list(compared(run(0.5), other).values()) == outcomes
