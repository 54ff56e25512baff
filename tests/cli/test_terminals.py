"""Terminals that are given apart from their road network, in a file or in the job."""

import hpcsolve as package
from tests.cli.lines import error_line

JOB = 'algorithm = "steiner-kmb"\ninstance = { file = "town.gr", directed = false, terminals = "houses.txt" }\n'
TOWN = "p sp 4 6\na 1 2 3\na 2 1 3\na 2 3 4\na 3 2 4\na 3 4 1\na 4 3 1\n"


def test_terminals_beside_a_graph(hpcsolve, tmp_path, test_device):
    """Their file is relative to the job, belongs to the job's identity, and is read again by verify."""
    folder, houses = tmp_path / "jobs", tmp_path / "jobs" / "houses.txt"
    folder.mkdir()
    for name, text in (("town.toml", JOB), ("town.gr", TOWN), ("houses.txt", "# houses\n1\n4\n")):
        (folder / name).write_text(text)

    def run(*more):
        return hpcsolve("run", "jobs/town.toml", "--device", test_device, "--output", "town.h5", *more, cwd=tmp_path)

    assert run().returncode == 0
    assert package.load(tmp_path / "town.h5").tree == [(1, 2), (2, 3), (3, 4)]
    assert hpcsolve("verify", "town.h5", cwd=tmp_path).returncode == 0
    houses.write_text("1\n3\n")
    assert hpcsolve("verify", "town.h5", cwd=tmp_path).returncode == 2
    assert "another job or instance" in error_line(run())
    assert run("--set", "instance.terminals=[4, 2]", "--overwrite").returncode == 0
    assert package.load(tmp_path / "town.h5").cost == 5
    assert "terminals: town has no vertex 9" in error_line(run("--set", "instance.terminals=[2, 9]", "--overwrite"))
    assert "instance: terminals must be a list" in error_line(run("--set", "instance.terminals=9", "--overwrite"))
    houses.write_text("1\n9\n")
    assert "houses.txt:2: town has no vertex 9" in error_line(run("--overwrite"))
