"""Data frames of pandas, polars and Arrow as tables of numbers."""

from dualboost.frames.numbers import (
    REFUSED_DATES,
    FrameNumbers,
    check_different_names,
    check_infinity,
    encode_frame,
    frame_numbers,
    refuse_array,
    unmet_labels,
)
from dualboost.frames.row_numbers import check_row_numbers
from dualboost.frames.tables import Frame, Kind, as_frame, is_signalling
from dualboost.frames.whole_numbers import check_whole_numbers
from dualboost.frames.words import in_words

__all__ = [
    "REFUSED_DATES",
    "Frame",
    "FrameNumbers",
    "Kind",
    "as_frame",
    "check_different_names",
    "check_infinity",
    "check_row_numbers",
    "check_whole_numbers",
    "encode_frame",
    "frame_numbers",
    "in_words",
    "is_signalling",
    "refuse_array",
    "unmet_labels",
]
