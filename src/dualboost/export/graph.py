"""A small writer of ONNX graphs: constants, operators, the tree ensemble."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dualboost.export.ensemble import TreeArrays

__all__ = ["DOUBLE", "INT8", "INT32", "INT64", "UINT8", "UINT64", "Graph", "require_onnx"]

UINT8, INT8, INT32, INT64, DOUBLE, UINT64 = 2, 3, 6, 7, 11, 13  # the numbers of these kinds in ONNX

_ML = "ai.onnx.ml"
_OPSETS = {"": 18, _ML: 5}
_IR = 10  # of the same age as the operators
_LARGE = 1024  # bytes


def require_onnx():
    """The onnx library, or one sentence."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('to_onnx needs the onnx library: pip install "dualboost[onnx]".') from error
    return onnx


class Graph:
    """Operators in the order of adding; each returns the name of its result."""

    def __init__(self, outermost: Graph | None = None) -> None:
        self._onnx = require_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outermost: Graph = outermost or self
        self._large: dict[tuple, str] = {}
        self._numbers: Iterator[int] = outermost._numbers if outermost else itertools.count(1)

    def constant(self, values) -> str:
        """An array of numbers, truth values or strings; a large one stands in the outermost graph, and once."""
        array = np.asarray(values)
        if array.nbytes < _LARGE or array.dtype.kind in "UO":
            return self._constant(array)
        large, key = self._outermost._large, (array.dtype.str, array.shape, array.tobytes())
        if key not in large:
            large[key] = self._outermost._constant(array)
        return large[key]

    def _constant(self, array: np.ndarray) -> str:
        if array.dtype.kind in "UO":
            strings = [str(value).encode() for value in array.ravel()]
            tensor = self._onnx.helper.make_tensor(
                self.name("text"), self._onnx.TensorProto.STRING, array.shape, strings
            )
        else:
            tensor = self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), self.name("constant"))
        self._constants.append(tensor)
        return tensor.name

    def add(self, operator: str, inputs: list[str], attributes: dict[str, Any] | None = None, domain: str = "") -> str:
        """The result of one operator."""
        name = self.name(operator.lower())
        node = self._onnx.helper.make_node(operator, inputs, [name], name=name, domain=domain, **(attributes or {}))
        self._nodes.append(node)
        return name

    def sum(self, names: list[str]) -> str:
        """Some results of the same shape, added up."""
        return names[0] if len(names) == 1 else self.add("Sum", names)

    def split(self, name: str, axis: int, count: int = 2) -> list[str]:
        """A result in equal parts."""
        parts = [self.name("part") for _ in range(count)]
        node = self._onnx.helper.make_node("Split", [name], parts, name=parts[0], axis=axis, num_outputs=count)
        self._nodes.append(node)
        return parts

    def parted(self, name: str, sizes: list[int]) -> list[str]:
        """The rows of a table, so many each; nothing where these are none."""
        if sum(size > 0 for size in sizes) == 1:
            return [name if size else "" for size in sizes]
        parts = [self.name("part") if size else "" for size in sizes]
        given = self.constant(np.array([size for size in sizes if size]))
        self._nodes.append(self._onnx.helper.make_node("Split", [name, given], list(filter(None, parts)), axis=0))
        return parts

    def stacked(self, names: list[str], axis: int = 0) -> str:
        """Some results one after the other."""
        return names[0] if len(names) == 1 else self.add("Concat", names, {"axis": axis})

    def columns(self, table: str, places: np.ndarray | str) -> str:
        """The columns of a table of doubles, 32-bit or 64-bit numbers, at these places, or at 64-bit ones in the graph.

        Of all operators that choose, this is the one that onnxruntime has without a division for each number or row.
        """
        at = places if isinstance(places, str) else self.constant(places.astype(np.int64))
        return self.add("ArrayFeatureExtractor", [table, at], domain=_ML)

    def call(self, name: str, output: str) -> None:
        """Give a result the name of an output."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [output if own == name else own for own in names]

    def trees(self, X: str, arrays: TreeArrays, n_targets: int) -> str:
        """The sums of the trees, one column a target, in double precision."""
        tensor = self._onnx.numpy_helper.from_array
        true, false = arrays.children
        attributes = {
            "n_targets": n_targets,
            "aggregate_function": 1,  # sum
            "post_transform": 0,  # none
            "tree_roots": arrays.roots.tolist(),
            "nodes_featureids": arrays.features.tolist(),
            "nodes_splits": tensor(arrays.thresholds.astype(np.float64), "splits"),
            "nodes_modes": tensor(np.zeros(len(arrays.features), dtype=np.uint8), "modes"),  # x <= threshold
            "nodes_truenodeids": true.tolist(),
            "nodes_falsenodeids": false.tolist(),
            "nodes_trueleafs": arrays.ends[0].astype(int).tolist(),
            "nodes_falseleafs": arrays.ends[1].astype(int).tolist(),
            "nodes_missing_value_tracks_true": arrays.missing_true.astype(int).tolist(),
            "leaf_targetids": arrays.leaf_targets.tolist(),
            "leaf_weights": tensor(arrays.leaf_weights.astype(np.float64), "weights"),
        }
        return self.add("TreeEnsemble", [X], attributes, _ML)

    def name(self, kind: str) -> str:
        """A name that nothing else has."""
        return f"{kind}_{next(self._numbers)}"

    def branch(self) -> Graph:
        """A graph for `choose`, which may use the results of this one."""
        return Graph(self._outermost)

    def choose(self, condition: str, true: tuple[Graph, str], false: tuple[Graph, str], kind: int = DOUBLE) -> str:
        """The result of one of two graphs, a table of doubles or other numbers; the other is not computed."""
        then, otherwise = (graph._as_branch(result, kind=kind) for graph, result in (true, false))
        return self.add("If", [condition], {"then_branch": then, "else_branch": otherwise})

    def scan(self, numbers: str, body: tuple[Graph, str, str]) -> str:
        """The result of a graph for each row of whole numbers in turn; the body is (graph, input, result)."""
        graph, row, result = body
        return self.add("Scan", [numbers], {"num_scan_inputs": 1, "body": graph._as_branch(result, [row])})

    def _as_branch(self, result: str, inputs: list[str] | None = None, kind: int = DOUBLE):
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        told = kind, [None, None]
        given, output = (
            [helper.make_tensor_value_info(name, kind, shape) for name in names]
            for names, (kind, shape) in ((inputs or [], (kinds.INT64, [1])), ([result], told))
        )
        return helper.make_graph(self._nodes, self.name("branch"), given, output, self._constants)

    def model(self, n_features: int, outputs: dict[str, tuple[Any, list]], notes: dict[str, str]):
        """The finished model: a table X of doubles in, these outputs of (kind of number, shape)."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        X = helper.make_tensor_value_info("X", kinds.DOUBLE, [None, n_features])
        listed = [
            helper.make_tensor_value_info(name, getattr(kinds, kind), shape) for name, (kind, shape) in outputs.items()
        ]
        graph = helper.make_graph(self._nodes, "dualboost", [X], listed, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="dualboost", ir_version=_IR)
        helper.set_model_props(model, notes)
        self._onnx.checker.check_model(model)
        return model
