"""The types written by hand for the compiled module are those of its bindings: names, order, dtypes, defaults."""

import ast
import re
from pathlib import Path

import pytest

import dualboost.kernels
from dualboost.kernels import _compiled

STUB = (Path(dualboost.kernels.__file__).parent / "_compiled.pyi").read_text()
TREE = ast.parse(re.sub(r"NDArray\[np\.(\w+)\]", r"\1", STUB))


def parts(text: str) -> set[str]:
    return set(text.split(" | "))


ALIASES = {node.targets[0].id: parts(ast.unparse(node.value)) for node in TREE.body if isinstance(node, ast.Assign)}


def functions(body: list, prefix: str = "") -> dict[str, ast.FunctionDef]:
    """By name, methods as "Class.method"."""
    found = {prefix + node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found |= functions(node.body, f"{node.name}.")
    return found


WRITTEN = functions(TREE.body)


def kinds(annotation: ast.expr | None) -> set[str]:
    """The types that an argument may have; an array is named by its dtype."""
    names = parts(ast.unparse(annotation)) if annotation is not None else set()
    return {kind.split(".")[-1] for name in names for kind in ALIASES.get(name, {name})}


def arguments(function: ast.FunctionDef) -> list[tuple[str, set[str]]]:
    return [(argument.arg, kinds(argument.annotation)) for argument in function.args.args]


def defaults(function: ast.FunctionDef) -> list[str]:
    return [ast.unparse(value) for value in function.args.defaults]


def bound(name: str) -> list[ast.FunctionDef]:
    """The overloads as nanobind describes them."""
    target = _compiled
    for step in name.split("."):
        target = getattr(target, step)
    overloads = []
    for signature, _, values in getattr(target, "fget", target).__nb_signature__:
        text = re.sub(r"ndarray\[dtype=(\w+)[^\]]*\]", r"\1", signature)
        text = re.sub(r"ndarray\[shape[^\]]*\]", "float64 | float32", text)
        text = re.sub(r"\\(\d+)", lambda place, values=values: repr(values[int(place[1])]), text)
        overloads.append(ast.parse(text.replace("def (", "def attribute(") + ": ...").body[0])
    return overloads


def test_every_name_is_written_down():
    public = {name for name in vars(_compiled) if not name.startswith("_")}
    assert public == {name.split(".")[0] for name in WRITTEN} and len(public) > 20
    classes = [kind for kind in vars(_compiled).values() if isinstance(kind, type)]
    methods = {f"{kind.__name__}.{name}" for kind in classes for name in vars(kind) if not name.startswith("_")}
    methods |= {f"{kind.__name__}.__init__" for kind in classes}
    assert methods == {name for name in WRITTEN if "." in name} and "StumpSearch.best" in methods


@pytest.mark.parametrize("name", WRITTEN)
def test_the_types_are_those_of_the_bindings(name):
    overloads = bound(name)
    together = [
        (columns[0][0], set.union(*(kinds for _, kinds in columns)))
        for columns in zip(*(arguments(overload) for overload in overloads), strict=True)
    ]
    assert together == arguments(WRITTEN[name])
    assert all(defaults(overload) == defaults(WRITTEN[name]) for overload in overloads)
