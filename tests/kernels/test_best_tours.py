"""The kernel that finds each colony's best tour equals numpy's `argmin`."""

import numpy as np
import pytest


@pytest.mark.parametrize("n", [4, 5, 33, 131])
@pytest.mark.parametrize("ants", [1, 31, 70])
def test_the_first_of_the_shortest_tours_is_found(n, ants, device):
    """Of few different lengths, some beyond 32 bits, many are equal."""
    rng, colonies, words = np.random.default_rng(n), 5, -(-n // 4)
    lengths = rng.integers(2**40, 2**40 + 3, (colonies, ants)).astype(np.uint64)
    tours = np.array([[rng.permutation(n) for _ in range(ants)] for _ in range(colonies)], np.uint16)
    best = device.empty((colonies, words), np.uint64)
    device.kernel("ants/best_tours", "best_tours")(
        3, 32, sizes={"n": n, "ants": ants, "colonies": colonies}, lengths=device.upload(lengths),
        tours=device.upload(tours), best=best)
    found = best.download().view(np.uint16)[:, :n]
    assert found.tolist() == [tours[colony, ant].tolist() for colony, ant in enumerate(lengths.argmin(axis=1))]
