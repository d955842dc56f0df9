"""numba, which compiles the loops; without it the same functions run as Python, slowly, and give the same results."""

import gc
from types import SimpleNamespace

from pa_lab.calls import warn
from pa_lab.compiled import COMPILED, INLINED, INNER

try:
    from numba import njit, types
    from numba.core import event
    from numba.extending import lower_builtin, overload, type_callable
except ImportError as error:
    warn(f"numba cannot be imported ({error}), so pa_lab runs as plain Python: the same results, tens to hundreds of "
         "times slower. Install numba, or a Python version that it supports.", RuntimeWarning)  # fmt: skip
    types = SimpleNamespace(Float=None)

    def njit(**options):
        """Leave a function as it is."""
        return lambda function: function

    def overload(function, *signature, **options):
        """Pass over what only compiled code would call."""
        return lambda made: made

    lower_builtin = type_callable = overload
else:

    class Compiling(event.Listener):
        """Puts Python's search for garbage off while this package is compiled, which takes a tenth longer with it."""

        outermost = None

        def on_start(self, event):
            """Stop the search, unless it is stopped already."""
            if gc.isenabled() and str(event.data["dispatcher"].py_func.__module__).startswith("pa_lab."):
                self.outermost = event.data
                gc.disable()

        def on_end(self, event):
            """Let it go on once what was compiled first is done."""
            if event.data is self.outermost:
                gc.enable()

    event.register("numba:compile", Compiling())

try:
    njit(cache=True)(warn)
except RuntimeError:  # neither the package nor the user's cache folder can be written: compile anew in each process
    COMPILED["cache"] = INLINED["cache"] = False


def method(name):
    """Return a function that calls the method ``name`` of its first argument, in compiled code too."""

    def call(self, *arguments):
        return getattr(self, name)(*arguments)

    overload(call, strict=False, jit_options=INNER | {"forceinline": True})(
        lambda self, *arguments: getattr(self.instance_class, name)
    )
    return call
