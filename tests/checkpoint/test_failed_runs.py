"""A run that fails before its first checkpoint removes the folder that it made, but not one that is a later run's."""

import pytest

from hpcsolve.checkpoint.checkpoints import Checkpoints, Writer
from hpcsolve.checkpoint.store import take_lease
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.runner.run import no_empty_folder_on_error


@pytest.mark.parametrize("taken_over", [False, True])
def test_the_folder_of_a_failed_run(tmp_path, taken_over):
    folder, comm = tmp_path / "out.h5.checkpoint", SerialComm()
    checkpoints = Checkpoints(writer=Writer(folder, comm, take_lease(folder), "job", None))
    with pytest.raises(ZeroDivisionError), no_empty_folder_on_error(checkpoints, comm):
        if taken_over:
            later = take_lease(folder)
        raise ZeroDivisionError
    assert folder.exists() == taken_over
    if taken_over:
        later.require()
