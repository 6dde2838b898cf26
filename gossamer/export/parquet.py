"""A table as a Parquet file. Rows are gathered and written as a row group now and then, so memory stays flat."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from gossamer.export.rows import Column, Row

ROWS_MAX = 20_000  # of a row group: a few MB, and large enough to compress well
TEXT_CHARS_MAX = 16 << 20  # of columns with the texts of whole pages
TYPES = {
    "text": pa.string(),
    "word": pa.string(),
    "document": pa.string(),
    "time": pa.timestamp("us"),  # in UTC; with a time zone DuckDB would need another package to show it in Python
    "bool": pa.bool_(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
}


class ParquetTable(AbstractContextManager["ParquetTable"]):
    """A file that is being written; what it holds can be read once it is closed."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._schema = pa.schema([(column.name, TYPES[column.type]) for column in columns])
        self._file = path.open("wb")  # ours, so that a full disk is an ordinary OSError
        self._writer = parquet.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            use_dictionary=[column.name for column in columns if column.type == "word"],
        )
        self._documents = [number for number, column in enumerate(columns) if column.type == "document"]
        self._rows: list[Row] = []
        self._text_chars = 0

    def add(self, row: Row) -> None:
        self._rows.append(row)
        self._text_chars += sum([len(row[number] or "") for number in self._documents])
        if len(self._rows) >= ROWS_MAX or self._text_chars >= TEXT_CHARS_MAX:
            self._write()

    def _write(self) -> None:
        if self._rows:
            values = zip(*self._rows, strict=True)
            arrays = [pa.array(each, type=kind) for each, kind in zip(values, self._schema.types, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._text_chars = [], 0

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._write()
                self._writer.close()
        finally:
            self._writer.is_open = False  # or it tries to end the file once more when it is collected
            self._file.close()
