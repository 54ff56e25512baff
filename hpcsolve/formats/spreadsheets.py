"""Sheets of Excel and Parquet tables as CSV, by pandas, and files of other programs that are refused with a way out.

Both need a library beside pandas: openpyxl for `.xlsx`, pyarrow for `.parquet`. What a table means is then found as in
any CSV file, and the lines of messages are the rows of the sheet.
"""

from __future__ import annotations

import csv
import importlib
import io
import zipfile
import zlib
from collections.abc import Iterable
from datetime import date, time
from typing import Any

from hpcsolve.errors import InputError

_BEGIN = 4096
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, EOFError, SyntaxError, RuntimeError,
            NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What pandas and its libraries raise for damaged files."""
LARGEST_SHEET = 2**28
"""Bytes to which the parts of a sheet may expand; pandas takes some ten times as much."""
_SQLITE, _PARQUET, _OLD_EXCEL = b"SQLite format 3\0", b"PAR1", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def as_csv(raw: bytes, name: str) -> bytes:
    """Return the table in a file of Excel or Parquet as CSV, other content as it is.

    Raises
    ------
    InputError
        It is damaged, has several sheets, needs a library that is not there, or is a file of another program (a
        GeoPackage, data of OpenStreetMap, an old sheet of Excel, a sheet of LibreOffice).
    """
    begin = raw[:_BEGIN]
    is_zip, suffix = begin.startswith(b"PK\x03\x04"), name.lower()[-5:]
    if is_zip and (b"[Content_Types].xml" in begin or suffix in (".xlsx", ".xlsm")):
        return _text(_sheet(raw, name))
    if begin.startswith(_PARQUET):
        return _text(_parquet(raw, name))
    if is_zip and suffix.endswith(".ods"):
        raise InputError("is a spreadsheet of LibreOffice; save the sheet as CSV", name)
    if begin.startswith(_OLD_EXCEL):
        raise InputError("is an old spreadsheet of Excel; save the sheet as .xlsx or CSV", name)
    if begin.startswith(_SQLITE):
        raise InputError("is a GeoPackage or another SQLite database; export the layer as GeoJSON with longitudes and "
                         "latitudes (EPSG:4326), in QGIS or by ogr2ogr -t_srs EPSG:4326 FILE.geojson FILE.gpkg", name)
    if b"OSMHeader" in begin[:32]:
        raise InputError("is data of OpenStreetMap (PBF); make GeoJSON of its streets: osmium tags-filter FILE.osm.pbf "
                         "w/highway -o streets.osm.pbf, then osmium export streets.osm.pbf -o streets.geojson", name)
    return raw


def _sheet(raw: bytes, name: str) -> list[list[Any]]:
    """Return the rows of the only sheet that is not empty."""
    pandas = _pandas(name, "a spreadsheet", "openpyxl")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as parts:
            if sum(part.file_size for part in parts.infolist()) > LARGEST_SHEET:
                raise InputError(f"holds more than {LARGEST_SHEET // 2**20} MiB; save the sheet as CSV", name)
        sheets = pandas.read_excel(io.BytesIO(raw), sheet_name=None, header=None, dtype=object, keep_default_na=False,
                                   engine="openpyxl")
    except _DAMAGED as problem:
        raise InputError(f"is damaged, or no spreadsheet: {str(problem).splitlines()[0] if str(problem) else ''}"
                         "; save the sheet as CSV", name) from None
    filled = {title: frame for title, frame in sheets.items() if frame.size}
    if len(filled) != 1:
        found = ", ".join(map(repr, filled))[:80] or "none with cells"
        raise InputError(f"has {len(filled)} sheets ({found}); keep one, or save it as CSV", name)
    (frame,) = filled.values()
    rows: list[list[Any]] = frame.to_numpy(dtype=object).tolist()
    return rows


def _parquet(raw: bytes, name: str) -> list[list[Any]]:
    """Return the titles and the rows of a Parquet table, with its index if that has values of its own."""
    pandas = _pandas(name, "a Parquet table", "pyarrow")
    try:
        frame = pandas.read_parquet(io.BytesIO(raw), engine="pyarrow")
    except _DAMAGED as problem:
        raise InputError(f"is damaged, or no Parquet table: {str(problem).splitlines()[0] if str(problem) else ''}",
                         name) from None
    titles = [str(title) for title in frame.columns]
    rows = [list(row) for row in frame.to_numpy(dtype=object).tolist()]
    if isinstance(frame.index, pandas.RangeIndex):
        return [titles, *rows]
    return [[str(frame.index.name or ""), *titles], *([label, *row] for label, row in zip(frame.index.tolist(), rows))]


def _pandas(name: str, what: str, beside: str) -> Any:
    """Return the module pandas, and see that the library beside it is there. Raises `InputError`."""
    try:
        importlib.import_module(beside)
        return importlib.import_module("pandas")
    except ImportError as problem:
        cure = f"pip install pandas {beside} reads it, or save it as CSV"
        raise InputError(f"is {what}, for which {problem.name} is missing; {cure}", name) from None


def _text(rows: Iterable[list[Any]]) -> bytes:
    """Return rows as CSV: an empty cell for None and NaN, floats in their shortest form."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    return " ".join(text.split())
