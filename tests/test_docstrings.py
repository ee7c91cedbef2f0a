"""Docstrings are what the reference is built from: reStructuredText without errors, so that `make docs` builds."""

import importlib
import inspect
import io
import re
from pathlib import Path

import pytest

docutils = pytest.importorskip("docutils.core", reason="docutils is not installed")
napoleon = pytest.importorskip("sphinx.ext.napoleon", reason="sphinx is not installed")

REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"
NAMES = re.findall(r"^ +(dualboost\.[\w.]+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
OF_SPHINX = ("Unknown directive type", "Unknown interpreted text role", "No directive entry", "No role entry")


def complaints(text: str) -> list[str]:
    told = io.StringIO()
    docutils.publish_doctree(
        str(napoleon.NumpyDocstring(text, napoleon.Config())),
        settings_overrides={"warning_stream": told, "report_level": 2},
    )
    lines = re.findall(r"\((?:WARNING|ERROR|SEVERE)/\d\) (.*)", told.getvalue())
    return [line for line in lines if not line.startswith(OF_SPHINX)]


def documented():
    """Every name of the reference, and the members that classes define themselves."""
    for name in NAMES:
        module, _, last = name.rpartition(".")
        item = getattr(importlib.import_module(module), last)
        yield name, inspect.getdoc(item)
        if inspect.isclass(item):
            for member, value in vars(item).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    yield f"{name}.{member}", inspect.getdoc(value)


def test_docstrings_of_the_reference_are_readable():
    assert len(NAMES) > 80
    assert complaints('A frame: base, score; "base_" where there is one.') == ['Unknown target name: "base".']
    wrong = {name: told for name, text in documented() if text and (told := complaints(text))}
    assert not wrong
