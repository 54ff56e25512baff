"""Completion files: each shell that is on this machine completes commands, options, names and files with its file."""

import os
import shutil

import pytest

pytest.importorskip("shtab", reason="no shtab (extra `completion`)")

BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p hpcsolve | sed 's/.*-F \([^ ]*\).*/\1/')
$function hpcsolve "${COMP_WORDS[COMP_CWORD]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
FISH = 'source $argv[1]; complete -C "$argv[2..]"'
ZSH = r"""
zmodload zsh/zpty
folder=$1; shift
zpty shell $ZSH -f -i
zpty -w shell "PS1=; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -d $folder/dump; print REA''DY"
zpty -r shell seen '*READY*'
zpty -w -n shell "$*"$'\t'
for second in 1 2 3 4 5 6 7 8; do sleep 0.5; zpty -r -t shell more && seen+=$more; done
print -r -- "$seen"
"""
CASES = {  # words -> what the last one is completed to
    ("hpcsolve", "ver"): "verify", ("hpcsolve", "new", "old"): "old-town",
    ("hpcsolve", "run", "--overw"): "--overwrite", ("hpcsolve", "solve", "--algorithm", "held"): "held-karp",
    ("hpcsolve", "generate", "uniform-t"): "uniform-tsp", ("hpcsolve", "solve", "some-ci"): "some-cities.tsp",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, hpcsolve):
    """A folder with the completion files and a file that can be completed."""
    path = tmp_path_factory.mktemp("completion")
    (path / "some-cities.tsp").write_text("")
    for shell, name in (("bash", "hpcsolve.bash"), ("zsh", "_hpcsolve"), ("fish", "hpcsolve.fish")):
        done = hpcsolve("completion", shell)
        assert done.returncode == 0, done.stderr
        (path / name).write_text(done.stdout)
    return path


SHELLS = {  # the command that completes these words, in the folder of the files
    "bash": lambda folder, words: ["--norc", "-c", BASH, "bash", "hpcsolve.bash", *words],
    "fish": lambda folder, words: ["--no-config", "-c", FISH, "hpcsolve.fish", *words],
    "zsh": lambda folder, words: ["-f", "-c", ZSH, "zsh", str(folder), *words],
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_shell_completes_words(shell, words, folder, run_process):
    program = shutil.which(shell) or pytest.skip(f"no {shell} on this machine")
    command = [program, *SHELLS[shell](folder, words)]
    done = run_process(command, timeout=30, cwd=folder, env={**os.environ, "ZSH": program})
    found = done.stdout if shell == "zsh" else done.stdout.split()  # which prints all of its screen
    assert CASES[words] in found, done.stdout + done.stderr


def test_another_shell(hpcsolve):
    done = hpcsolve("completion", "csh")
    assert done.returncode == 2 and "invalid choice: 'csh'" in done.stderr and done.stderr.count("\n") == 1
