"""Sheets of Excel and Parquet tables as CSV, and files of other programs that are refused with a way out.

They need libraries: openpyxl for `.xlsx`, pandas with pyarrow for `.parquet`. What a table means is then found as in
any CSV file, and the lines of messages are the rows of the sheet.
"""

from __future__ import annotations

import csv
import importlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from hpcsolve.errors import InputError

_BEGIN = 4096
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, EOFError, SyntaxError, RuntimeError,
            NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What these libraries raise for damaged files."""
LARGEST_SHEET = 2**28
"""Bytes to which the parts of a sheet may expand. Its cells take some ten times as much memory."""
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
        rows = _sheet(raw, name)
        return _text(rows, ";" if _has_decimal_commas(rows) else ",")
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
    openpyxl = _library(name, "a spreadsheet", "openpyxl")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as parts:
            if sum(part.file_size for part in parts.infolist()) > LARGEST_SHEET:
                raise InputError(f"holds more than {LARGEST_SHEET // 2**20} MiB; save the sheet as CSV", name)
        values, formulas = (openpyxl.load_workbook(io.BytesIO(raw), data_only=only) for only in (True, False))
        filled = {sheet.title: (list(sheet.rows), list(formulas[sheet.title].rows)) for sheet in values.worksheets
                  if any(cell.value is not None for row in formulas[sheet.title].rows for cell in row)}
    except _DAMAGED as problem:
        raise InputError(f"is damaged, or no spreadsheet: {str(problem).splitlines()[0] if str(problem) else ''}"
                         "; save the sheet as CSV", name) from None
    if len(filled) != 1:
        found = ", ".join(map(repr, filled))[:80] or "none with cells"
        raise InputError(f"has {len(filled)} sheets ({found}); keep one, or save it as CSV", name)
    (found_values, found_formulas), = filled.values()
    for row, as_written in zip(found_values, found_formulas):
        for cell, written in zip(row, as_written):
            if cell.data_type == "e" or (cell.value is None and written.value is not None):
                what = "is an error, or a formula whose value is not in the file"
                raise InputError(f"cell {cell.coordinate} {what}; open and save it in Excel, or save it as CSV", name)
    return [[cell.value for cell in row] for row in found_values]


def _parquet(raw: bytes, name: str) -> list[list[Any]]:
    """Return the titles and the rows of a Parquet table, with its index if that has values of its own."""
    _library(name, "a Parquet table", "pyarrow")
    pandas = _library(name, "a Parquet table", "pandas")
    try:
        frame = pandas.read_parquet(io.BytesIO(raw), engine="pyarrow")
    except _DAMAGED as problem:
        raise InputError(f"is damaged, or no Parquet table: {str(problem).splitlines()[0] if str(problem) else ''}",
                         name) from None
    titles = [str(title) for title in frame.columns]
    short = {title: kind for title, kind in frame.dtypes.items() if kind in (np.float16, np.float32)}
    for title in short:  # the shortest form of a float of 32 bits is not that of the same one with 64
        frame[title] = frame[title].astype(str).astype(float)
    rows = [list(row) for row in frame.to_numpy(dtype=object).tolist()]
    if frame.index.equals(pandas.RangeIndex(len(frame))):
        return [titles, *rows]
    return [[str(frame.index.name or ""), *titles], *([label, *row] for label, row in zip(frame.index.tolist(), rows))]


def _library(name: str, what: str, library: str) -> Any:
    """Return a module that reads such files. Raises `InputError` if it is not there."""
    try:
        return importlib.import_module(library)
    except ImportError as problem:
        cure = f"pip install {library} reads it, or save it as CSV"
        raise InputError(f"is {what}, for which {problem.name} is missing; {cure}", name) from None


def _has_decimal_commas(rows: list[list[Any]]) -> bool:
    """Return whether a sheet has texts such as 48,2, and no number with decimals that would be written with a point."""
    cells = [cell for row in rows for cell in row]
    return any(isinstance(cell, str) and _COMMA.fullmatch(cell.strip()) for cell in cells) and not any(
        isinstance(cell, float) and cell % 1 != 0 for cell in cells)


def _text(rows: Iterable[list[Any]], delimiter: str = ",") -> bytes:
    """Return rows as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerows([cell_text(value) for value in row] for row in rows)
    return stream.getvalue().encode()


def cell_text(value: Any) -> str:
    """Return a value of a program or a spreadsheet as the cell of a table: floats shortest, durations as h:mm:ss.

    None, NaN and pandas' NaT and NA are empty cells.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return repr(float(value)).removesuffix(".0")
    if isinstance(value, timedelta) and (seconds := value.total_seconds()) == int(seconds):
        return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"
    text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    return " ".join(text.split())
