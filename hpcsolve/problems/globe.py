"""Sines, cosines, arc sines and unit vectors from sums, products, quotients and square roots alone.

IEEE 754 rounds these five correctly, so the results are the same bits on every machine, whatever its mathematical
library. cuda_src/tours/costs.cuh has the same arc sine for kernels.

Source of the polynomials and of the reduction of angles: Sun Microsystems, fdlibm 5.3 (1993), k_sin.c, k_cos.c,
e_rem_pio2.c and e_asin.c, with constants as in FreeBSD's msun. Errors are below 1.5e-16 of the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_SINE = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
         -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
_COSINE = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
           2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
_ARC_ABOVE = (3.47933107596021167570e-05, 7.91534994289814532176e-04, -4.00555345006794114027e-02,
              2.01212532134862925881e-01, -3.25565818622400915405e-01, 1.66666666666666657415e-01)
_ARC_BELOW = (7.70381505559019352791e-02, -6.88283971605453293030e-01, 2.02094576023350569471e+00,
              -2.40339491173441421878e+00, 1.0)
_QUARTER = 1.57079632673412561417
"""The first 33 bits of half of pi. Its products with small integers are exact."""
_QUARTER_REST = 6.07710050650619224932e-11
_QUARTERS_IN_ONE = 0.63661977236758134308
_MOST = 1e5
"""Larger angles are first taken modulo two pi."""


def _polynomial(coefficients: Sequence[float], x: Reals) -> Reals:
    """Return the value of a polynomial, whose coefficients are given from that of the highest power, in a new array."""
    value = coefficients[0] * x
    for coefficient in coefficients[1:-1]:
        value += coefficient
        value *= x
    value += coefficients[-1]
    return value


def sine_and_cosine(angle: Reals) -> tuple[Reals, Reals]:
    """Return the sines and the cosines of angles in radians."""
    angle = np.where(np.abs(angle) > _MOST, np.fmod(angle, 2 * np.pi), angle)
    quarters = np.floor(angle * _QUARTERS_IN_ONE + 0.5)
    x = (angle - quarters * _QUARTER) - quarters * _QUARTER_REST
    z = x * x
    sine, cosine = x + x * z * _polynomial(_SINE, z), 1.0 - (0.5 * z - z * z * _polynomial(_COSINE, z))
    turned = quarters.astype(np.int64) & 3
    odd = (turned & 1).astype(bool)
    of_sine, of_cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(turned >= 2, -of_sine, of_sine), np.where((turned == 1) | (turned == 2), -of_cosine, of_cosine)


def arc_sine(x: Reals) -> Reals:
    """Return the arc sines, 0 to half of pi, of numbers from 0 to 1."""
    small = x < 0.5
    z = np.where(small, x * x, (1.0 - x) * 0.5)
    root = np.where(small, x, np.sqrt(z))
    angle = root + root * (z * _polynomial(_ARC_ABOVE, z) / _polynomial(_ARC_BELOW, z))
    return np.where(small, angle, 1.57079632679489655800 - 2.0 * angle)


def unit_vectors(radians: Reals) -> Reals:
    """Return places on the globe as vectors of length 1, shape (..., 3).

    Parameters
    ----------
    radians
        Shape (..., 2): latitudes and longitudes.
    """
    sine, cosine = sine_and_cosine(radians)
    flat = cosine[..., 0]
    return np.stack([flat * cosine[..., 1], flat * sine[..., 1], sine[..., 0]], axis=-1)


def angle_between(a: Reals, b: Reals) -> Reals:
    """Return the angles in radians between unit vectors of shapes (..., 3), which are broadcast."""
    squares = [np.square(a[..., axis] - b[..., axis]) for axis in range(3)]
    half_chord = np.sqrt(squares[0] + squares[1] + squares[2]) * 0.5
    return 2.0 * arc_sine(np.minimum(half_chord, 1.0))
