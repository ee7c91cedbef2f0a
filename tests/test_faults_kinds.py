"""What can happen to a fit, for every classifier and every learner: little memory, many fits, threads, forks."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dualboost
from dualboost import AdaBoostClassifier
from faults import KINDS, VARIANTS, classifier, in_pages
from test_faults_runs import in_a_child, rows_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals, forks and limits of Linux"),
]


def test_every_classifier_is_here():
    assert {kind for kind, _ in VARIANTS.values()} == {n for n in dualboost.__all__ if n.endswith("Classifier")}


def bits(name: str) -> bytes:
    rows, labels = KINDS[name].table(80)
    return KINDS[name].make().fit(rows, labels).decision_function(rows).tobytes()


def test_eight_threads_at_once_fit_the_same_bits():
    alone = {name: bits(name) for name in KINDS}
    with ThreadPoolExecutor(8) as pool:
        names = list(KINDS) * 2
        for name, found in zip(names, pool.map(bits, names), strict=True):
            assert found == alone[name], name


def all_bits() -> dict[str, bytes]:
    return {name: bits(name) for name in KINDS}


def test_fits_in_a_forked_child_after_a_threaded_fit_end():
    rows, labels = rows_of(100_000, 6)  # enough for a pass to be worth threads
    AdaBoostClassifier(n_estimators=5, n_jobs=2).fit(rows, labels)
    classifier("LPBoostClassifier").fit(rows[:2000], labels[:2000])
    assert in_a_child(all_bits, timeout=60) == all_bits()


def test_little_memory_is_an_error_and_not_the_end():
    """In a process of its own, which gives back what it has freed."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += "import faults; faults.fit_with_little_memory()"
    returned = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, encoding="utf-8", timeout=150, check=False, env={**os.environ, **returned},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    found = [line.split("\t") for line in done.stdout.splitlines()]
    assert [name for name, *_ in found] == list(KINDS)
    assert [name for name, refused, _ in found if int(refused) < 1 and "nzdd" not in name] == []
    assert [name for name, _, score in found if float(score) < 0.4] == []


def growth() -> float:
    """MiB from the 200th to the 1,000th fit."""
    tables = {name: kind.table(60) for name, kind in KINDS.items()}
    models = {name: kind.make() for name, kind in KINDS.items()}
    names, before = list(KINDS), 0
    for k in range(1001):
        name = names[k % len(names)]
        rows, labels = tables[name]
        models[name].fit(rows, labels, eval_set=(rows[:20], labels[:20]) if k % 30 == 2 else None)
        if k == 200:
            gc.collect()
            before = in_pages(1)
    gc.collect()
    return (in_pages(1) - before) / 2**20


def test_a_thousand_fits_do_not_grow():
    assert in_a_child(growth) < 3
