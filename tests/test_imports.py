"""The architecture as a test: imports point down only, each library has one home, nothing low prints or reads time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dualboost

ROOT = Path(dualboost.__file__).parent
LEVELS = [
    {"kernels", "rows", "errors", "labels", "cutting", "one_thread", "products", "sparse_tables"},
    {"fingerprints"},
    {"data", "frames", "copies"},
    {"sets"},
    {"losses", "learners"},
    {"game", "master"},
    {"boosters"},
    {"run"},
    {"solve"},
    {"diagnosis", "storage"},
    {"estimators"},
    {"files", "inspection"},
    {"export"},
    {"readers"},
    {"plots", "__init__"},
    {"report"},
    {"cli"},
    {"__main__"},
]
LEVEL = {part: height for height, parts in enumerate(LEVELS) for part in parts}
# plots is drawn from finished runs: whoever offers it imports it inside a function.
HOMES = {
    "matplotlib": {"plots"},
    "rich": {"estimators/progress"},
    "polars": {"readers"},
    "typer": {"cli"},
    "onnx": {"export"},
    "jinja2": {"report"},
    "sklearn": {"estimators", "files", "inspection", "export", "learners/sklearn", "readers", "cli", "plots"},
}
HEAVY = ["matplotlib", "onnx", "pandas", "polars", "pyarrow", "lightgbm", "rich"]


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(tree: ast.AST, lazy: bool = False):
    """(imported dotted name, whether it stands inside a function) of every import that runs."""
    for node in ast.iter_child_nodes(tree):
        if is_for_types_only(node):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write absolute imports"
            yield from ((f"{node.module}.{alias.name}", lazy) for alias in node.names)
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from imports(node, inside)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def own_parts(path: Path, want_lazy: bool):
    """The parts of the library that a module imports."""
    for name, lazy in imports(tree_of(path)):
        pieces = name.split(".")
        if pieces[0] == "dualboost" and len(pieces) > 1 and lazy == want_lazy:
            yield pieces[1] if pieces[1] in LEVEL else "__init__"


def test_there_is_something_to_check():
    assert len(modules()) > 15
    assert any(lazy for path in modules() for _, lazy in imports(tree_of(path))), "lazy imports are recognised"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down(path):
    here = part_of(path)
    assert here in LEVEL, f"{here} has no level: add it to LEVELS"
    for part in own_parts(path, want_lazy=False):
        assert part != "plots" or here == "plots", "plots may be imported only inside a function"
        down = LEVEL[part] < LEVEL[here]
        assert down or part == here, f"{name_of(path)} imports {part}, which lies above or beside it"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_lazy_imports_point_down_or_to_plots(path):
    for part in own_parts(path, want_lazy=True):
        assert LEVEL[part] <= LEVEL[part_of(path)] or part == "plots"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_foreign_libraries_have_one_home(path):
    for name, lazy in imports(tree_of(path)):
        library = name.split(".")[0]
        if library in HOMES:
            assert {part_of(path), name_of(path)} & HOMES[library], f"{library} does not belong in {name_of(path)}"
        assert library != "rich" or lazy, "rich is imported when it draws"
        assert "_compiled" not in name or part_of(path) == "kernels", "compiled code is reached through kernels"


@pytest.mark.parametrize("path", [p for p in modules() if LEVEL.get(part_of(p), 99) < LEVEL["estimators"]], ids=name_of)
def test_nothing_below_the_estimators_prints_or_reads_the_clock(path):
    tree = tree_of(path)
    assert not {name.split(".")[0] for name, _ in imports(tree)} & {"time", "datetime", "logging", "warnings"}
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"print", "input", "open"}


def heavy_modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_import_is_light():
    """Newer versions of scikit-learn import an installed pandas by themselves; nothing may be added to that."""
    found = heavy_modules_after("import dualboost")
    assert found <= heavy_modules_after("import sklearn.base, sklearn.model_selection")
    assert not found & {"matplotlib", "lightgbm", "rich"}


def test_a_wrong_import_would_be_seen(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from dualboost.estimators import MarginBoostClassifier\ndef f():\n    from dualboost import plots\n"
    )
    assert list(own_parts(wrong, want_lazy=False)) == ["estimators"]
    assert list(own_parts(wrong, want_lazy=True)) == ["plots"]
