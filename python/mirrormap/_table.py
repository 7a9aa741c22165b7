# SPDX-License-Identifier: Apache-2.0
"""Tables: of results, and of the databases of runs."""

from __future__ import annotations

import ctypes as c
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._library import InputError, SeeRow, UnsupportedError, encode, lib

_NULL, _INTEGER, _REAL, _TEXT = range(4)


class Table:
    """Rows with named columns; `table["column"]` is a column, `table[i]` a row.

    >>> table = Table("example", [{"step": 1, "value": 0.5}, {"step": 2, "value": None}])
    >>> len(table), table.columns, table["value"]
    (2, ['step', 'value'], array([0.5, nan]))
    """

    def __init__(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.name = name
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.rows[0]) if self.rows else []

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, int):
            return self.rows[key]
        if self.rows and key not in self.rows[0]:
            raise InputError(f"table {self.name}: no column {key!r}, expected {', '.join(self.columns)}")
        values = [row[key] for row in self.rows]
        if any(isinstance(value, float) for value in values):  # what is undefined is not a number
            return np.array([np.nan if value is None else value for value in values])
        return np.array(values)

    def to_frame(self) -> Any:
        """As a data frame of pandas."""
        try:
            import pandas
        except ImportError:
            raise UnsupportedError("to_frame needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows of {', '.join(self.columns) or 'nothing'})"


class Run:
    """What the database of a run holds; a process may be at work on it. `read_run` makes one."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)
        meta = {row["key"]: row["value"] for row in self.table("meta")}
        self.command: str = meta["command"]
        self.config: dict[str, Any] = json.loads(meta["config"])

    def table(self, name: str) -> Table:
        """A table by its name: docs/run-database.md lists them with their columns."""
        rows: list[dict[str, Any]] = []
        problem: list[BaseException] = []

        def see(values: Any, n: int, user: int | None) -> int:
            try:
                rows.append({v.name.decode(): _value(v) for v in values[:n] if v.name != b"crc"})
                return 0
            except BaseException as why:  # an exception cannot pass through C
                problem.append(why)
                return 1

        lib.mm_study_rows(encode(self.folder), encode(name), SeeRow(see), None)
        if problem:
            raise problem[0]
        return Table(name, rows)

    @property
    def generations(self) -> Table:
        """Of `learn`: a row for each generation."""
        return self.table("generation")

    @property
    def scores(self) -> Table:
        """Of `learn`: runs of the mean and of the controls on validation tasks."""
        return self.table("score")

    @property
    def trainings(self) -> Table:
        """Of other commands: a row for each complete training run."""
        return self.table("training")

    @property
    def curves(self) -> Table:
        """Of other commands: returns in the course of training."""
        return self.table("curve")

    @property
    def measures(self) -> Table:
        """Of other commands: what each update was recorded by, e.g. losses with `log=on`."""
        return self.table("measure")

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.folder)!r}, {self.command})"


def _value(value: Any) -> Any:
    if value.type == _NULL:
        return None
    if value.type == _INTEGER:
        return value.integer % 2**64 if value.name == b"seed" else value.integer
    if value.type == _REAL:
        return value.real
    data = c.string_at(value.data, value.bytes) if value.data else b""
    return data.decode() if value.type == _TEXT else data


def read_run(folder: str | os.PathLike[str]) -> Run:
    """The tables of the run in `folder`."""
    return Run(folder)
