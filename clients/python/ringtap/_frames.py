"""Frames of pandas, which is installed by `pip install 'ringtap-client[pandas]'`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from . import models
from ._model import Model, _fields, kinds
from .errors import RingtapError

if TYPE_CHECKING:
    import pandas


def to_frame(records: Sequence[Model]) -> pandas.DataFrame:
    """A row for each record, such as a stream of a call: `ringtap.to_frame(client.call(id).streams)`.

    Columns have the names of the fields; those that end in `_us` are times in UTC.
    """
    kind = type(records[0]) if records else Model
    return _frame([record.to_json() for record in records], _names(kind), kinds(kind))


def calls_frame(calls: list[dict[str, Any]]) -> pandas.DataFrame:
    """A row for each call, with the columns of a call even where there is none."""
    return _frame(calls, _names(models.Call), kinds(models.Call))


def kpis_frame(table: models.KpiTable) -> pandas.DataFrame:
    """A row for each group, or for each of its periods where there are any."""
    figures = [definition.name for definition in table.definitions if definition.name != "attempts"]
    rows = []
    for group in table.groups:
        periods: Sequence[models.KpiGroup | models.KpiPoint] = group.series or [group]
        for period in periods:
            row: dict[str, Any] = {"dimension": group.dimension, "name": group.name}
            if isinstance(period, models.KpiPoint):
                row |= {"at_us": period.at_us, "until_us": period.until_us}
            row["attempts"] = period.attempts
            row |= {name: period.figures[name].get("value") for name in figures if name in period.figures}
            rows.append(row)
    shown = [name for name in figures if any(name in row for row in rows)]
    times = ["at_us", "until_us"] if any("at_us" in row for row in rows) else []
    columns = ["dimension", "name", *times, "attempts", *shown]
    return _frame(rows, columns, {**dict.fromkeys(shown, float), "attempts": int})


def _frame(rows: list[dict[str, Any]], columns: list[str], numbers: dict[str, type]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise RingtapError("Frames need pandas: pip install 'ringtap-client[pandas]'") from error
    frame = pandas.DataFrame(rows, columns=columns)
    for column in columns:
        if column.endswith("_us"):
            frame[column] = pandas.to_datetime(frame[column].astype("Int64"), unit="us", utc=True)
        elif column in numbers:
            # What is not known is <NA> among whole numbers, and NaN among others.
            frame[column] = frame[column].astype("float64" if numbers[column] is float else "Int64")
    return frame


def _names(kind: type) -> list[str]:
    return [name for _, name, _, _ in _fields(kind)]
