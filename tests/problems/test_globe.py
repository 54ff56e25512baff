"""Sines, cosines and arc sines are near those of longer doubles, and the same bits as plain Python's arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.problems.globe import angle_between, arc_sine, sine_and_cosine, unit_vectors


@pytest.mark.parametrize("most", [0.8, 7.0, 1e5])
def test_sines_and_cosines(most):
    angles = np.concatenate([np.random.default_rng(1).uniform(-most, most, 100_000), np.linspace(-7, 7, 721), [0.0]])
    longer = angles.astype(np.longdouble)
    for found, expected in zip(sine_and_cosine(angles), (np.sin(longer), np.cos(longer))):
        assert np.abs(found - expected).max() < 1.6e-16
    assert [float(value) for value in sine_and_cosine(np.array(0.0))] == [0.0, 1.0]
    assert max(np.abs(value).max() for value in sine_and_cosine(1e9 * angles)) < 1 + 1e-15


def test_arc_sines():
    rng = np.random.default_rng(2)
    numbers = np.concatenate([rng.random(100_000), rng.random(1000) ** 20, 1 - rng.random(1000) ** 20, [0.5, 1.0]])
    expected = np.arcsin(numbers.astype(np.longdouble))
    assert (np.abs(arc_sine(numbers) - expected) <= 5e-16 * expected).all()
    assert arc_sine(np.array([0.0, 1.0])).tolist() == [0.0, math.pi / 2]


@given(st.floats(0, 1))
def test_arc_sines_have_the_bits_of_the_formula(x):
    """One operation after the other, in Python's doubles, as written down in e_asin.c."""
    z = x * x if x < 0.5 else (1.0 - x) * 0.5
    p = z * (1.66666666666666657415e-01 + z * (-3.25565818622400915405e-01 + z * (2.01212532134862925881e-01 + z * (
        -4.00555345006794114027e-02 + z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)))))
    q = 1.0 + z * (-2.40339491173441421878e+00 + z * (2.02094576023350569471e+00 + z * (
        -6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)))
    root = x if x < 0.5 else math.sqrt(z)
    angle = root + root * (p / q)
    assert float(arc_sine(np.array(x))) == (angle if x < 0.5 else 1.57079632679489655800 - 2.0 * angle)


@given(st.lists(st.tuples(st.floats(-1.6, 1.6), st.floats(-7, 7)), min_size=2, max_size=5))
def test_angles_between_places(places):
    vectors = unit_vectors(np.array(places))
    assert np.abs(np.square(vectors).sum(axis=1) - 1).max() < 5e-16
    found = angle_between(vectors[:, None], vectors[None])
    assert np.array_equal(found, found.T) and not np.diag(found).any()
    for i, a in enumerate(vectors):
        for j, b in enumerate(vectors):
            expected = math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
            assert abs(found[i, j] - expected) < 5e-8, "at antipodes an arc sine has half of the digits"
