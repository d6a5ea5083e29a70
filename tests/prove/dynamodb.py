"""DynamoDB of the simulated cloud: MiniStack's, called within this process, with what histories need beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ministack.services import dynamodb as ministack

Answer = tuple[int, dict[str, str], bytes]


def answer(operation: str, body: bytes) -> Answer:
    """The answer to a request."""
    asked = ministack.handle_request("POST", "/", {"x-amz-target": f"DynamoDB_20120810.{operation}"}, body, {})
    try:
        asked.send(None)
    except StopIteration as done:
        status, headers, answered = done.value
        return status, headers, answered if isinstance(answered, bytes) else answered.encode()
    raise AssertionError(f"{operation} waits")


def ask(operation: str, body: Mapping[str, Any]) -> None:
    """Make a request that must succeed. Raises AssertionError."""
    status, _, answered = answer(operation, json.dumps(body).encode())
    assert status == 200, answered


_CLAUSE = re.compile(r"(#?\w+) (<>|<=|>=|=|<|>) (:\w+)|begins_with\((#?\w+), (:\w+)\)")


def hasten() -> None:
    """Check each expression once instead of once per item that it is evaluated for, which takes most of the time."""
    checked: dict[tuple[str, str], Any] = {}
    evaluate, tokenize = ministack._evaluate_condition, cache(ministack._tokenize)

    def evaluated(expression: str, item: Any, values: Any, names: Any, slot: str = "ConditionExpression") -> Any:
        known = checked.get((expression, slot))
        match known:
            case None:
                found = evaluate(expression, item, values, names, slot=slot)
                if expression and "BETWEEN" not in expression.upper():  # whose bounds are checked by value
                    checked[expression, slot] = _clauses(expression) or tokenize(expression)
                return found
            case tuple():
                return all(_holds(clause, item or {}, values, names) for clause in known)
        return ministack._ExprEval(known, item, values, names).evaluate()

    ministack._tokenize, ministack._evaluate_condition = tokenize, evaluated


def _clauses(expression: str) -> tuple[Any, ...] | None:
    """Comparisons of attributes with values, joined by AND; None if it is not of this simple form."""
    found = tuple(_CLAUSE.fullmatch(each) for each in expression.split(" AND "))
    return None if None in found else tuple(each.groups() for each in found if each is not None)


def _holds(clause: tuple[str, ...], item: dict[str, Any], values: dict[str, Any], names: dict[str, str]) -> bool:
    name, comparison, value, prefixed, prefix = clause
    if comparison:
        return bool(ministack._compare_ddb(item.get(names.get(name, name)), comparison, values.get(value)))
    attribute = item.get(names.get(prefixed, prefixed))
    return attribute is not None and str(attribute["S"]).startswith(values[prefix]["S"])
