"""A history that fails, made smaller as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tests.prove.plan import Conditions, Operation, Plan


def minimized(plan: Plan, fails: Callable[[Plan], bool], enough: Callable[[], bool] = lambda: False) -> Plan:
    """The smallest plan that is found by leaving out operations, faults and conditions one by one, until `enough`."""
    smaller = True
    while smaller and not enough():
        smaller = False
        for candidate in _smaller(plan):
            if enough():
                break
            if fails(candidate):
                plan, smaller = candidate, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    for half in (plan.operations[: len(plan.operations) // 2], plan.operations[len(plan.operations) // 2 :]):
        if 1 < len(half) < len(plan.operations):
            yield replace(plan, operations=half)
    if len(plan.faults) > 1:
        yield replace(plan, faults=[])
    for number in range(len(plan.faults)):
        yield replace(plan, faults=plan.faults[:number] + plan.faults[number + 1 :])
    for field in fields(Conditions):
        if getattr(plan.conditions, field.name) != field.default:
            yield replace(plan, conditions=replace(plan.conditions, **_default(field)))
    if len(plan.operations) > 1:
        for number in reversed(range(len(plan.operations))):
            yield replace(plan, operations=plan.operations[:number] + plan.operations[number + 1 :])
    for number, operation in enumerate(plan.operations):
        if operation.what == "put":
            for name in reversed(list(operation.more["body"]["jobs"])):
                yield replace(plan, operations=_without(plan, number, name))


def _default(field: Any) -> dict[str, Any]:
    return {field.name: field.default}


def _without(plan: Plan, number: int, name: str) -> tuple[Operation, ...]:
    """The operations, with one job less in the workflow that the `number`-th puts."""
    operation = plan.operations[number]
    jobs = {
        each: {**step, "after": [other for other in step["after"] if other != name]} if "after" in step else step
        for each, step in operation.more["body"]["jobs"].items()
        if each != name
    }
    body = {**operation.more["body"], "jobs": {each: _rooted(step) for each, step in jobs.items()}}
    changed = replace(operation, more={**operation.more, "body": body})
    return (*plan.operations[:number], changed, *plan.operations[number + 1 :])


def _rooted(step: dict[str, Any]) -> dict[str, Any]:
    return (
        {key: value for key, value in step.items() if key not in ("after", "when")} if step.get("after") == [] else step
    )
