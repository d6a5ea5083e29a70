"""The tables in memory reject and return what DynamoDB does, according to its documentation and two emulators.

The differences between the emulators and the documentation are named here. MiniStack accepts many invalid requests, so
it gets only the drawn requests that are valid.
"""

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.system import SystemClock
from duecourse.stores.table import Table, Tables
from duecourse.testing.table import MemoryTables
from tests.support import emulators, in_process
from tests.support.drawn_requests import Drawn
from tests.support.examples import examples
from tests.support.rejected_requests import CANCELLED, INVALID, INVALID_STATEMENT, JOBS, REJECTED, SEED
from tests.support.table_requests import Request, clear, contents
from tests.support.tables import create_tables

LOCAL = {
    "rejects a whole transaction for what is a reason of its cancellation": (
        "transaction: * set as *key",
        "transaction: * set as job id",
        "transaction: * flag as due time",
        "transaction: * slot of 2,049 bytes",
        "transaction: * job id of 1,025 bytes",
        "transaction: update with sum of a *",
        "transaction: update with texts removed from a [nt]*",
        "transaction: sum * out of range",
    ),
    "fails at a long attribute name": ("*name of 65,536 bytes",),
    "does not check the length of a partition key in a query": ("query: partition key of 2,049 bytes",),
    "does not check the filter of a scan": ("scan: filter by what an index of keys does not have",),
}
"""Requests that DynamoDB Local treats differently from the documentation, by reason."""

MINISTACK = {
    "does not check the keys of transactions as those of single writes": (
        "transaction: put of no *key",
        "transaction: * sort key of 1,025 bytes",
        "transaction: * partition key of 2,0*",
        "transaction: check of no *key",
        "transaction: check of attribute that is no key",
        "transaction: update with * of the *key",
    ),
    "does not limit the length of the keys of an index": ("*slot of 2,049 bytes", "*job id of 1,025 bytes"),
    "does not check attribute names": ("*name of 65,536 bytes", "put: item with an empty name", "*without a name"),
    "does not check operands": (
        "*: order of *",
        "*: range of *",
        "*: 101 options",
        "*: 30? operators*",
        "*: comparison with empty set",
        "*: option that is an empty set",
        "*: no texts removed from a set",
        "*: update with no texts removed from a set",
    ),
    "takes an empty filter for none": ("filter: no parts", "filter: no alternatives", "scan: filter without parts"),
    "executes both changes of an attribute": ("*: *two values of*", "*: *value and *", "*: *two sums of*"),
    "does not check the results of sums": ("*: sum that is out of range", "transaction: sum * out of range"),
    "cancels a transaction for what is invalid anyway": ("transaction: update with value of 409,601 bytes",),
    "does not check sets in transactions": ("transaction: update with value empty set",),
    "does not check statements": ("many: *",),
    "does not check the length of a key in a query": ("query: *key of *bytes",),
    "does not check the attributes of a filter or a result": (
        "query: filter of *",
        "*: filter by *",
        "*: attribute that an index of keys does not have",
    ),
    "does not check all of a start": (
        "query: start with another attribute",
        "query: start with a *",
        "query: empty start",
        "query: start of an index in the table",
    ),
}
"""Requests that MiniStack treats differently from the documentation, by reason."""


def on(client: Any) -> Tables:
    """New tables of an emulator."""
    made = create_tables(client)
    return DynamoTables(client, {Table.JOBS: made.jobs, Table.RUNS: made.runs}, SystemClock())


@pytest.fixture(scope="module")
def local(dynamodb_local: str) -> Tables:
    return on(emulators.client("dynamodb", dynamodb_local))


@pytest.fixture(scope="module")
def ministack_tables() -> Tables:
    return on(in_process.dynamodb())


# -- Directed ------------------------------------------------------------------------------------------------------


def differences(tables: Tables) -> dict[str, Any]:
    """The results of the rejected requests that differ from the documentation."""
    found = {}
    for name, (code, request) in REJECTED.items():
        tables.put_many(JOBS, SEED)
        result = request.send(tables)
        if result not in (code, [(code, None)]):
            found[name] = result
    return found


def unexplained(found: dict[str, Any], reasons: dict[str, tuple[str, ...]]) -> tuple[dict[str, Any], list[str]]:
    """The differences without a reason, and the reasons without a difference."""
    known = [pattern for patterns in reasons.values() for pattern in patterns]
    new = {name: result for name, result in found.items() if not any(fnmatchcase(name, each) for each in known)}
    return new, [pattern for pattern in known if not any(fnmatchcase(name, pattern) for name in found)]


def test_memory_table_rejects_invalid_requests() -> None:
    assert differences(MemoryTables()) == {}


def test_memory_table_keeps_its_items_at_invalid_requests() -> None:
    tables = MemoryTables()
    tables.put_many(JOBS, SEED)
    before = contents(tables)
    changing = [name for name, (_, request) in REJECTED.items() if request.send(tables) and contents(tables) != before]
    assert changing == []


@pytest.mark.extended
def test_memory_table_rejects_what_dynamodb_local_rejects(dynamodb_local: str) -> None:
    tables = on(emulators.client("dynamodb", dynamodb_local))
    assert unexplained(differences(tables), LOCAL) == ({}, [])


@pytest.mark.extended
def test_memory_table_rejects_what_ministack_rejects() -> None:
    assert unexplained(differences(on(in_process.dynamodb())), MINISTACK) == ({}, [])


# -- Drawn ---------------------------------------------------------------------------------------------------------


@st.composite
def requests(draw: st.DrawFn) -> Request:
    return Drawn(lambda options: draw(st.sampled_from(options))).request()


sequences = st.lists(requests(), min_size=1, max_size=12)


def compare(other: Tables, sequence: list[Request], *, lax: bool = False) -> None:
    """Send the requests to new tables in memory and to the other ones, and compare results and contents. Tables that
    are `lax` accept invalid requests, so they get only the others.
    """
    clear(other)
    memory = MemoryTables()
    for request in sequence:
        result = request.send(memory)
        if lax and is_rejected(result):
            continue
        there = request.send(other)
        if request.method == "transact" and result != there:
            # MiniStack cancels for an invalid key of an index instead of a failed condition. DynamoDB Local: see LOCAL.
            assert there == (CANCELLED if lax else INVALID), request
            assert result == CANCELLED or (isinstance(result, list) and result), request
        else:
            assert result == there, request
    assert contents(memory) == contents(other)


def is_rejected(result: Any) -> bool:
    """Whether a request, or one of many writes, was rejected."""
    codes = [each[0] for each in result if isinstance(each, tuple)] if isinstance(result, list) else [result]
    return any(code in (INVALID, INVALID_STATEMENT, CANCELLED) for code in codes)


@pytest.mark.extended
@given(sequence=sequences)
@examples(150)
def test_memory_table_has_the_results_of_dynamodb_local(local: Tables, sequence: list[Request]) -> None:
    compare(local, sequence)


@given(sequence=sequences)
@examples(100)
def test_memory_table_has_the_results_of_ministack(ministack_tables: Tables, sequence: list[Request]) -> None:
    compare(ministack_tables, sequence, lax=True)
