"""Sphinx settings: Markdown pages, API reference from the docstrings, no network at read time."""

from importlib.metadata import version as installed_version

project = "dualboost"
author = copyright = "The dualboost developers"
release = installed_version("dualboost")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
html_theme = "furo"
html_title = "dualboost"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_js_files = ["access.js"]
myst_heading_anchors = 3
suppress_warnings = ["ref.ref"]  # docstrings inherited from scikit-learn refer to its own pages
exclude_patterns = ["_build"]
