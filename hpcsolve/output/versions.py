"""The format versions of the result file that can be read, and how they differ.

Version 2 follows the CF conventions (cfconventions.org, section 8.1 and 2.5.1): the attribute `scale_factor` of a
dataset of scaled integers, and `_FillValue` where a value stands for "none". xarray and netCDF tools therefore show
own units and NaN. Version 1 had `none` in place of `_FillValue`, and left the scale to the reader.
"""

from __future__ import annotations

FORMAT_VERSION = 2
"""The version that is written."""
FILL_VALUE = {1: "none", FORMAT_VERSION: "_FillValue"}
"""Readable version -> the attribute with the value that stands for "none"."""
SCALE_FACTOR = "scale_factor"
"""The attribute with 1 / scale of a dataset of scaled integers, since version 2; left out where the scale is 1."""

SCALED_IN_VERSION_1 = frozenset((
    "/colonies/cost", "/prices/price", "/solution/closure_bottleneck", "/solution/closure_mst", "/solution/cost",
    "/solution/distance", "/solution/lower_bound", "/solution/matrix", "/solution/weight",
))
"""The datasets of scaled integers in files of version 1."""
