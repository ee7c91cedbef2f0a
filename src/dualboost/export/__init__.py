"""Fitted models for other programs."""

from dualboost.export.onnx_model import to_onnx

__all__ = ["to_onnx"]
