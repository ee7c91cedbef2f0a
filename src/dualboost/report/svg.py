"""Small vector pictures as text: a frame with two axes, and marks that say their value when pointed at.

Colours are classes, so that the page's style decides them for light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

__all__ = ["Frame", "svg", "ticks"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 14, 40
_LETTERS = 20  # of a label beside a bar


@dataclass(frozen=True)
class Frame:
    """Where numbers are on the picture."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 460
    height: int = 270
    log_x: bool = False

    def px(self, value: float) -> float:
        low, high = (log10(v) for v in self.x) if self.log_x else self.x
        value = log10(value) if self.log_x else value
        return round(_LEFT + (value - low) / ((high - low) or 1) * (self.width - _LEFT - _RIGHT), 1)

    def py(self, value: float) -> float:
        low, high = self.y
        return round(self.height - _BOTTOM - (value - low) / ((high - low) or 1) * (self.height - _TOP - _BOTTOM), 1)

    def share(self, x: float) -> float:
        """How far from the left a number is, from 0 to 1."""
        return (self.px(x) - _LEFT) / (self.width - _LEFT - _RIGHT)

    def line(self, xs: Iterable[float], ys: Iterable[float], kind: str) -> str:
        points = " ".join(f"{self.px(x)},{self.py(y)}" for x, y in zip(xs, ys, strict=True))
        return f'<polyline class="{kind}" points="{points}"/>'

    def area(self, xs: Iterable[float], low: Iterable[float], high: Iterable[float], kind: str) -> str:
        there = [f"{self.px(x)},{self.py(y)}" for x, y in zip(xs, high, strict=True)]
        back = [f"{self.px(x)},{self.py(y)}" for x, y in zip(xs, low, strict=True)][::-1]
        return f'<polygon class="{kind}" points="{" ".join(there + back)}"/>'

    def box(self, x: tuple[float, float], y: tuple[float, float], kind: str, title: str = "") -> str:
        left, right = sorted((self.px(x[0]), self.px(x[1])))
        top, bottom = sorted((self.py(y[0]), self.py(y[1])))
        size = f'x="{left}" y="{top}" width="{max(right - left, 0.5):.1f}" height="{bottom - top:.1f}"'
        return f'<rect class="{kind}" {size}>{_title(title)}</rect>'

    def strip(self, x: tuple[float, float], title: str) -> str:
        """A part of the picture, from top to bottom, that says something when pointed at."""
        return self.box(x, self.y, "hover", title)

    def dot(self, x: float, y: float, kind: str, title: str) -> str:
        return f'<circle class="{kind}" cx="{self.px(x)}" cy="{self.py(y)}" r="4.5">{_title(title)}</circle>'

    def vertical(self, x: float, kind: str, text: str = "", level: int = 0, side: str = "start") -> str:
        at, shift = self.px(x), 5 if side == "start" else -5
        words = f'<text class="mark {kind}" x="{at + shift}" y="{_TOP + 12 + 15 * level}" text-anchor="{side}">'
        line = f'<line class="{kind}" x1="{at}" x2="{at}" y1="{_TOP}" y2="{self.height - _BOTTOM}"/>'
        return line + (f"{words}{escape(text)}</text>" if text else "")

    def bar(self, x: float, y: tuple[float, float], kind: str) -> str:
        """An error bar."""
        at = self.px(x)
        return f'<line class="{kind}" x1="{at}" x2="{at}" y1="{self.py(y[0])}" y2="{self.py(y[1])}"/>'

    def across(self, x_name: str) -> str:
        """Ticks, their numbers and the name of the axis below; nothing at the side."""
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        parts = [f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>']
        for value in ticks(*self.x, log=self.log_x):
            parts.append(
                f'<text class="tick" x="{self.px(value)}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>'
            )
        parts.append(f'<text class="name" x="{right}" y="{self.height - 6}" text-anchor="end">{escape(x_name)}</text>')
        return "".join(parts)

    def beside(self, y: float, text: str, side: str) -> str:
        """Words beside the middle, at this height; cut where they would not fit."""
        at = self.px(sum(self.x) / 2) + (-6 if side == "end" else 6)
        short = text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
        return f'<text class="label" x="{at:.1f}" y="{self.py(y) + 4:.1f}" text-anchor="{side}">{escape(short)}</text>'

    def axes(self, x_name: str, y_name: str, y_percent: bool = False, y_absolute: bool = False) -> str:
        """Ticks, their numbers, the names of both axes."""
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        parts = [self.across(x_name)]
        for value in ticks(*self.y, count=4):
            number = f"{value:.0%}" if y_percent else f"{abs(value) if y_absolute else value:g}"
            at = self.py(value)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{at}" y2="{at}"/>')
            parts.append(f'<text class="tick" x="{_LEFT - 7}" y="{at + 4}" text-anchor="end">{number}</text>')
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<text class="name" x="14" y="{middle}" text-anchor="middle" '
            f'transform="rotate(-90 14 {middle})">{escape(y_name)}</text>'
        )
        return "".join(parts)


def svg(frame: Frame, label: str, parts: Sequence[str]) -> str:
    """The picture; `label` says what it shows to who cannot see it."""
    view = f'viewBox="0 0 {frame.width} {frame.height}"'
    return f'<svg {view} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def ticks(low: float, high: float, count: int = 6, log: bool = False) -> list[float]:
    """Round numbers between two."""
    if log:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        few = len(decades) < 3
        marks = [m * 10.0**k for k in decades for m in ((1, 2, 5) if few else (1,))]
        return [mark for mark in marks if low <= mark <= high]
    if not high > low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough * 0.999)
    first = ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, floor(high / step + 1e-9) + 1)]
