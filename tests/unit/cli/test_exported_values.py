"""The values of stored items in the export of a tenant."""

import pytest

from duecourse.cli.tenants.exporting import value_of


@pytest.mark.parametrize(
    ("stored", "exported"),
    [
        ({"N": "1795280400"}, 1795280400),
        ({"N": "-3"}, -3),
        ({"N": "0.25"}, 0.25),
        ({"N": "1795280400.0017952696"}, "1795280400.0017952696"),
        ({"M": {"at": {"N": "7"}}}, {"at": 7}),
        ({"SS": ["b", "a"]}, ["a", "b"]),
    ],
)
def test_exported_values_keep_all_their_digits(stored: dict[str, object], exported: object) -> None:
    assert value_of(stored) == exported
