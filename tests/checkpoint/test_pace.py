"""How much of a run's time checkpoints take, on a simulated clock, when the state grows and is written whole each time.

Each checkpoint is due when the time since the last one is 50 times what it will take. So the share is 2 % however large
the state gets and however fast the disk is, and generations that only append would not lower it. They would lower what
a kill costs, which is that interval.
"""

import pytest

from hpcsolve.checkpoint.checkpoints import FIRST_RATE, SHARE, Pace


@pytest.mark.parametrize("rate", [0.1 * FIRST_RATE, FIRST_RATE, 10 * FIRST_RATE])
@pytest.mark.parametrize("growth", [1e5, 1e7, 1e9], ids="{:.0e} B/s".format)
@pytest.mark.parametrize("piece", [2.0, 20.0], ids="{} s a piece".format)
def test_checkpoints_take_two_percent(rate, growth, piece):
    """A day of a run whose finished rows grow by so many bytes a second, on a disk that writes so many."""
    clock = [0.0]
    pace = Pace(clock=lambda: clock[0])
    saving, worked, saves = 0.0, 0.0, 0
    while clock[0] < 86400:
        clock[0] += piece
        worked += piece
        nbytes = int(growth * worked)
        if pace.is_due(pace.look(), nbytes):
            seconds = 0.01 + nbytes / rate
            clock[0] += seconds
            pace.note_save(nbytes, seconds)
            saving, saves = saving + seconds, saves + 1
    first_guess = max(1.0, FIRST_RATE / rate)  # until a checkpoint is measured, a slow disk is taken for a fast one
    assert saves > 0 or growth > SHARE * min(rate, FIRST_RATE)  # rows that come too fast to be kept for 2 %
    assert saving <= SHARE * clock[0] * first_guess
    if saves > 100:
        assert saving <= SHARE * clock[0]


def test_a_piece_of_work_a_checkpoint_and_the_end_must_fit_before_the_deadline():
    """The longest piece took 30 s, the last checkpoint 5 s, and the process takes 2 s to end."""
    clock = [0.0]
    pace = Pace(deadline=1000.0, clock=lambda: clock[0])
    for clock[0] in (10.0, 40.0, 41.0):
        pace.look()
    pace.note_save(1000, 5.0)
    assert [pace.must_stop(now, 1000) for now in (962.9, 963.0)] == [False, True]
    assert [pace.must_stop(now, 2000) for now in (957.9, 958.0)] == [False, True]
    pace.deadline = None
    assert not pace.must_stop(1e9, 1000)
