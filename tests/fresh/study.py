"""What `pip install 'pa-lab[study]'` must be enough for. Run by test_packaging.py and by `make dist`."""

import importlib
import os
import pkgutil

os.environ |= {"PA_LAB_STAND_IN": "1", "PA_LAB_STAND_IN_ROWS": "500"}  # no network: the data are not the subject

import pa_lab.study
from pa_lab import PAClassifier, datasets
from pa_lab.study import published

for module in pkgutil.iter_modules(pa_lab.study.__path__):
    importlib.import_module(f"pa_lab.study.{module.name}")
data = datasets.load("ijcnn1")
assert PAClassifier(C=0.1).fit(data.X_train, data.y_train).predict(data.X_test).shape == data.y_test.shape
assert len(published.load_table("perez_suay_table2"))
print(pa_lab.__file__)
