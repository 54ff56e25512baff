"""What is made by `make docs`, and what is stated twice, agrees with the code."""

import re
import sys

import pytest

import hpcsolve as hpcsolve_package
from hpcsolve.analysis.load import load
from hpcsolve.errors import InputError
from hpcsolve.reference import TABLES, updated
from tests.frame.source import REPOSITORY

DOCS = REPOSITORY / "docs"


def test_the_tables_are_up_to_date():
    texts = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")]
    texts = [text for text in texts if ": made by `make docs` -->" in text]
    assert [updated(text) == text for text in texts] == [True, True, True], "run: make docs"
    whole = "".join(texts)
    assert [name for name in TABLES if whole.count(f"<!-- {name}: made by `make docs` -->") != 1] == []
    for key in ("share-gpu", "held-karp", "layout", "clusters"):
        assert f"`{key}`" in whole or f"[{key}]" in whole


def test_a_document_without_its_markers():
    for text in ("nothing", "<!-- keys: made by `make docs` -->\n"):
        with pytest.raises(InputError, match="there is no line"):
            updated(text)


def test_every_example_is_listed():
    listed = (REPOSITORY / "jobs" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in REPOSITORY.glob("jobs/*.toml") if f"({path.name})" not in listed] == []


@pytest.fixture(scope="module")
def results(tmp_path_factory, hpcsolve):
    """The files of the tour and of the tree that are in the picture."""
    folder = tmp_path_factory.mktemp("picture")
    for name in ("eu-capitals", "district-heating"):
        job, output = REPOSITORY / "jobs" / f"{name}.toml", folder / f"{name}.h5"
        assert hpcsolve("run", job, "--device", "cpu", "--output", output, timeout=200).returncode == 0
    return folder / "eu-capitals.h5", folder / "district-heating.h5"


@pytest.mark.slow
def test_the_picture_shows_what_runs_give(results):
    tour, tree = (load(path) for path in results)
    ratio = tree.cost / tree.lower_bound
    picture = (DOCS / "picture.svg").read_text(encoding="utf-8")
    assert f"{len(tour.tour)} capitals: {tour.cost} km, proven<" in picture
    assert f"{len(tree.terminals)} houses joined: {tree.cost}, at most {ratio:.3f} times the optimum<" in picture


def test_the_picture_can_be_drawn_anew(results, tmp_path, run_process):
    pytest.importorskip("matplotlib", reason="no matplotlib: pip install matplotlib (extra `plot`)")
    new = tmp_path / "picture.svg"
    done = run_process([sys.executable, str(DOCS / "picture.py"), *map(str, results), str(new)], timeout=100)
    assert done.returncode == 0, done.stderr
    pictures = [path.read_text(encoding="utf-8") for path in (new, DOCS / "picture.svg")]
    written = [re.findall("<text[^>]*>([^<]*)", picture) for picture in pictures]
    assert len(written[0]) > 5 and written[0] == written[1], "run: make docs"
    assert (DOCS / "picture.svg").stat().st_size < 200_000


def test_the_picture_of_the_imports_is_up_to_date(tmp_path, run_process):
    """But for the sizes, which each change moves by a few lines."""
    new = tmp_path / "architecture.svg"
    done = run_process([sys.executable, str(DOCS / "architecture.py"), str(new)], timeout=60)
    assert done.returncode == 0, done.stderr
    pictures = [path.read_text(encoding="utf-8") for path in (new, DOCS / "architecture.svg")]
    parts = [re.sub('class="size">[^<]*', "", picture) for picture in pictures]
    assert parts[0].count("<rect") > 10 and parts[0] == parts[1], "run: make docs"


@pytest.mark.slow
def test_the_pictures_of_pages_can_be_drawn_anew(tmp_path, run_process):
    for library in ("matplotlib", "networkx", "pandas"):
        pytest.importorskip(library, reason=f"no {library}: pip install {library}")
    most = {"ten-minutes": 100_000, "gallery": 60_000}
    for name in most:
        (tmp_path / name).mkdir()
    done = run_process([sys.executable, str(DOCS / "pictures.py"), str(tmp_path)], timeout=200)
    assert done.returncode == 0, done.stderr
    for name, bytes_ in most.items():
        new = {path.name: path for path in (tmp_path / name).iterdir()}
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        shown = re.findall(rf"!\[.+\]\({name}/(\S+)\)", page)
        assert sorted(shown) == sorted(new) == sorted(path.name for path in (DOCS / name).iterdir())
        for path in (DOCS / name).iterdir():
            texts = [re.findall("<text[^>]*>([^<]*)", p.read_text(encoding="utf-8")) for p in (new[path.name], path)]
            assert len(texts[0]) > 1 and texts[0] == texts[1], "run: make docs"
            assert path.stat().st_size < bytes_, path.name


def test_the_citation_is_of_this_version():
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"(?m)^([a-z-]+): (.+)$", citation))
    assert fields["version"] == hpcsolve_package.__version__
    assert fields["cff-version"] == "1.2.0" and fields["license"] == "MIT"
    assert fields["title"].strip('"').split(":")[0] == "hpcsolve" and fields["message"]
    assert "\nauthors:\n  - name: The hpcsolve developers\n" in citation


def test_the_changes_name_this_version():
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {hpcsolve_package.__version__}, " in changes
