"""Each format is recognised by content and suffix, read, written if its record says so, and documented."""

import gzip
from dataclasses import replace

import pytest

from hpcsolve.errors import InputError
from hpcsolve.formats import Format, read, read_graph, recognised, write, write_graph
from hpcsolve.formats.files import open_file
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.reference import formats
from tests.formats.samples import samples

KINDS = [(format, TSP_FORMATS, read, write) for format in TSP_FORMATS]
KINDS += [(format, GRAPH_FORMATS, read_graph, write_graph) for format in GRAPH_FORMATS]
each_format = pytest.mark.parametrize(
    ("format", "formats", "reader", "writer"), KINDS, ids=[record.name.replace(" ", "-") for record, *_ in KINDS]
)


def samples_of(format):
    return [sample for sample in samples() if sample.format == format.name and not sample.file.endswith((".gz", ".xz"))]


def opened(tmp_path, name, content, format):
    (tmp_path / name).write_bytes(content)
    file = open_file(str(tmp_path / name))
    return file if format.binary else file.as_text()


@each_format
def test_recognised_by_content(tmp_path, format, formats, reader, writer):
    """Content is recognised whatever the suffix, and by one signature alone. METIS has none, edge lists have titles."""
    for sample in samples_of(format):
        file = opened(tmp_path, "file.unknown", sample.content, format)
        claimed = [other for other, *_ in KINDS if other.signature and other.signature(file.content)]
        assert claimed in ([format] if format.signature else [], [] if format.resembles else [format])
        if format.signature or format.resembles:
            assert recognised(file, formats) is format
            assert reader(tmp_path / "file.unknown").format == format.name


@each_format
def test_recognised_by_suffix(tmp_path, format, formats, reader, writer):
    """The suffix decides where the content says nothing. Of two formats with one suffix the first one is taken."""
    for suffix in format.suffixes:
        for packed in ("", ".gz"):
            content = b"?" if packed == "" else gzip.compress(b"?")
            file = opened(tmp_path, f"a.b{suffix.upper()}{packed}", content, format)
            first = next(other for other in formats if suffix in other.suffixes)
            assert recognised(file, formats) is first
            assert first is format or format.signature, "two formats have this suffix: one needs a signature"


@each_format
def test_read(tmp_path, format, formats, reader, writer):
    """Every sample is read as its own format."""
    assert samples_of(format), f"give {format.name} a sample in tests/formats/samples.py"
    for sample in samples_of(format):
        path = tmp_path / sample.file
        path.write_bytes(sample.content)
        found = reader(path)
        assert (found.format, found.path) == (format.name, str(path))
        assert found.problem.n in (3, 4)


@each_format
def test_written(tmp_path, format, formats, reader, writer):
    """What is written is recognised as the same format, and holds the same problem."""
    if format.write is None:
        return
    for sample in samples_of(format):
        (tmp_path / sample.file).write_bytes(sample.content)
        problem = reader(tmp_path / sample.file).problem
        path = tmp_path / f"again{format.suffixes[0]}"
        writer(problem, str(path))
        again = reader(path)
        assert again.format == format.name
        tsp, graph = ("cost", "scale"), ("offsets", "heads", "weights", "terminals", "scale")
        for name in tsp if formats is TSP_FORMATS else graph:
            assert str(getattr(again.problem, name)) == str(getattr(problem, name))


def test_a_new_format_is_one_record(tmp_path):
    """A format is recognised from its record alone."""
    new = Format("new", "New", (".new",), "begins with NEW", "no", lambda file: None, lambda text: text[:3] == b"NEW")
    assert recognised(opened(tmp_path, "x", b"NEW 1 2", new), (*GRAPH_FORMATS, new)) is new
    assert recognised(opened(tmp_path, "x.new", b"?", new), (*GRAPH_FORMATS, new)) is new
    assert recognised(opened(tmp_path, "x", b"?", new), (*GRAPH_FORMATS, new)) is None
    first = replace(new, suffixes=(".gr",))
    assert recognised(opened(tmp_path, "x.gr", b"?", new), (first, *GRAPH_FORMATS)) is first


def test_names_are_different():
    names = [format.name for format in (*TSP_FORMATS, *GRAPH_FORMATS)]
    assert len(set(names)) == len(names)
    assert all(suffix.startswith(".") and suffix.islower() for format, *_ in KINDS for suffix in format.suffixes)


def test_an_undirected_format_is_not_read_as_directed(tmp_path):
    for format in GRAPH_FORMATS:
        for sample in samples_of(format):
            (tmp_path / sample.file).write_bytes(sample.content)
            if format.directed == "no":
                with pytest.raises(InputError, match="is undirected; remove directed = true"):
                    read_graph(tmp_path / sample.file, directed=True)
                assert not read_graph(tmp_path / sample.file, directed=False).problem.directed
            elif sample.file != "pattern.mtx":  # symmetric, so that its format says what it is
                assert read_graph(tmp_path / sample.file, directed=True).problem.directed


def test_all_formats_are_documented():
    assert all(format.title in formats() for format, *_ in KINDS)


def test_a_cell_that_is_too_long(tmp_path):
    """A file that the csv module refuses is refused in one line."""
    (tmp_path / "m.csv").write_text('0,"' + "1" * 200_000 + '"\n1,0\n')
    with pytest.raises(InputError, match=r"m\.csv:1: not a row of a CSV table"):
        read(tmp_path / "m.csv")
