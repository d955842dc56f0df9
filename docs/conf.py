"""Settings of the site; `make docs` copies these sources, the notebooks and the figures to build/site for Sphinx."""

import html
import inspect
import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import pa_lab

project = "pa_lab"
author = "the pa_lab authors"
release = version = pa_lab.__version__
copyright = author

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["README.md", "requirements.txt"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!pa_lab).*")]  # names of other libraries

# Notebooks are shown as they are stored, outputs included.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "literal"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "pa_lab"
html_show_sourcelink = False
html_sidebars = {"index": [], "moving": []}
html_copy_source = False
html_extra_path = ["extra"]
html_context = {"default_mode": "auto"}
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"], "navigation_with_keys": False}


def write_mathml(self, node, block):
    """Write a formula as MathML, which browsers show without a script and without network."""
    tex = re.sub(r"\\tag\{(\w+)\}", r"\\qquad (\1)", node.astext()).replace(r"\tfrac12", r"\frac{1}{2}")
    try:
        formula = tex2mathml(tex, as_block=block)
    except Exception:  # TeX that docutils does not know stays readable as it is
        formula = f"<code>{html.escape(node.astext())}</code>"
    self.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def show_init(app, what, name, obj, options, signature, returns):
    """Show a class with the parameters of its ``__init__``, as `help` does."""
    if what == "class" and obj.__module__.startswith("pa_lab"):
        return str(inspect.signature(obj)), returns
    return None


def setup(app):
    """Register the writer of formulas and the signatures of classes."""
    app.connect("autodoc-process-signature", show_init)
    app.add_html_math_renderer(
        "mathml",
        (lambda self, node: write_mathml(self, node, False), None),
        (lambda self, node: write_mathml(self, node, True), None),
    )


html_math_renderer = "mathml"
