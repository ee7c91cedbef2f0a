"""Sphinx settings: Markdown pages, API reference from the docstrings, no network at read time."""

from importlib.metadata import version as installed_version

from sphinx.addnodes import pending_xref

project = "dualboost"
author = copyright = "The dualboost developers"
release = installed_version("dualboost")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
napoleon_custom_sections = [("Attributes", "params_style")]  # one list; those with a docstring of their own are members
templates_path = ["_templates"]
toc_object_entries_show_parents = "hide"
html_theme = "furo"
html_title = "dualboost"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_js_files = ["access.js"]
html_css_files = ["style.css"]
myst_heading_anchors = 3
suppress_warnings = ["ref.ref"]  # docstrings inherited from scikit-learn refer to its own pages
exclude_patterns = ["_build", "_templates"]


def words_are_no_links(app, doctree):
    """ "array of shape (n,)" is prose: only names with a capital letter or a dot are looked up."""
    for link in list(doctree.findall(pending_xref)):
        target = link.get("reftarget", "")
        if link.get("refdomain") == "py" and link.get("reftype") == "class" and target.islower() and "." not in target:
            link.replace_self(link.children)


def setup(app):
    app.connect("doctree-read", words_are_no_links)
