"""Colours that the colour-blind can tell apart, and the colour map of distances.

Source: Okabe and Ito, Color Universal Design (2008), without their yellow, which is too light for lines on white.
"""

from __future__ import annotations

BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
ORANGE, SKY, PURPLE = "#e69f00", "#56b4e9", "#cc79a7"
BLACK = "#4d4d4d"
GREY = "#999999"
"""What lies below: streets, unreached vertices, time that no phase accounts for."""
SERIES = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE)
"""For lines and areas side by side, in this order."""
FIELD_PAPER, FIELD_INK = "#fcfcfc", "#222222"
"""Paper and ink of a picture whose colours stand for numbers: light even where the page around it is dark."""
DISTANCE_MAP = "cividis"
"""From dark blue to yellow, of even steps in lightness, the same for most forms of colour blindness."""
