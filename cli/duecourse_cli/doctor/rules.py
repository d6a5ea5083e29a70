"""Facts from EventBridge: the rules that start functions."""

from __future__ import annotations

from duecourse_cli.doctor.facts import ClockRules
from duecourse_cli.doctor.stage import Stage

CARETAKERS = ("Sweep", "Patrol", "Audit")
"""Functions that a rule starts, beside the tick."""


def rules(stage: Stage) -> ClockRules:
    """The rule of each caretaker that the stage has."""
    functions = stage.functions
    return ClockRules({name: rule_of(stage, functions[name]) for name in CARETAKERS if name in functions})


def rule_of(stage: Stage, function: str) -> str | None:
    """The state of the rule whose target a function is: ENABLED if one of several is; None without a rule."""
    configuration = stage.clients("lambda").get_function_configuration(FunctionName=function)
    events = stage.clients("events")
    names = events.list_rule_names_by_target(TargetArn=configuration["FunctionArn"])["RuleNames"]
    states = {events.describe_rule(Name=name)["State"] for name in names}
    return "ENABLED" if "ENABLED" in states else next(iter(states), None)
