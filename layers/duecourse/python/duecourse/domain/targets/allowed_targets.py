"""The AWS targets that jobs of a stage may call. They are checked when a job is posted, and again at each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase

from duecourse.domain.targets.kinds import TARGETS, type_of
from duecourse.domain.targets.targets import CallableTarget, Connector, Connectors, EcsTarget

_WORD = "letters, digits, - and _"
_FIFO = r"[A-Za-z0-9_-]+(\.fifo)?"
_OF_DUECOURSE = ("duecourse-target-*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowList:
    """A list of allowed targets: its effect (`does`), and its content by default (`standard`).

    `form` is a pattern for the names in jobs, and `wants` describes it in words. Both are empty if jobs do not refer to
    these targets by name. `entry` and `entry_wants` have the same meaning for list entries that are not name patterns.
    """

    does: str
    form: str = ""
    wants: str = ""
    standard: tuple[str, ...] = _OF_DUECOURSE
    entry: str = ""
    entry_wants: str = ""


def _names(does: str, noun: str, form: str, wants: str, standard: tuple[str, ...] = _OF_DUECOURSE) -> tuple[str, ...]:
    """Return a list of name patterns of resources in this account and region."""
    wants = f"the name of {noun} in this account and region: {wants}, not an ARN"
    known = AllowList(does=does, form=form, wants=wants, standard=standard)
    return field(default=(), metadata={"list": known})


def _entries(does: str, entry: str, wants: str, standard: tuple[str, ...] = ("*",)) -> tuple[str, ...]:
    """Return a list with entries that are not name patterns."""
    return field(default=(), metadata={"list": AllowList(does=does, entry=entry, entry_wants=wants, standard=standard)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTargets:
    """The allowed targets of a stage: name patterns of this account's resources in this region. For targets of type
    `aws`, it lists the allowed actions (`ecs:UpdateService`) and the name patterns of the roles assumed for them.

    `task_definitions`: `family` allows only the latest revision, `family:7` only revision 7, and `family:*` every
    revision, including the latest. `public_ip`: whether ECS tasks may have a public address. `connectors`: the
    functions that call HTTP targets in private networks.
    """

    functions: tuple[str, ...] = _names(
        "allows functions named", "a function", r"[A-Za-z0-9_-]{1,64}", f"1 to 64 {_WORD}"
    )
    queues: tuple[str, ...] = _names(
        "allows queues named", "a queue", rf"(?=.{{1,80}}\Z){_FIFO}", f"1 to 80 {_WORD} (.fifo at its end)"
    )
    topics: tuple[str, ...] = _names(
        "allows topics named", "a topic", rf"(?=.{{1,256}}\Z){_FIFO}", f"1 to 256 {_WORD} (.fifo at its end)"
    )
    buses: tuple[str, ...] = _names(
        "allows event buses named",
        "an event bus",
        r"[A-Za-z0-9._-]{1,256}",
        "1 to 256 letters, digits, . _ and -",
    )
    machines: tuple[str, ...] = _names(
        "allows state machines named", "a state machine", r"[A-Za-z0-9_-]{1,80}", f"1 to 80 {_WORD}"
    )
    clusters: tuple[str, ...] = _names(
        "allows clusters named", "a cluster", r"[A-Za-z0-9_-]{1,255}", f"1 to 255 {_WORD}"
    )
    task_definitions: tuple[str, ...] = _names(
        "allows task definitions named",
        "a task definition",
        r"[A-Za-z0-9_-]{1,255}(:[1-9][0-9]{0,8})?",
        f"1 to 255 {_WORD}, followed by :<revision> for a revision other than the latest",
        ("duecourse-target-*:*",),
    )
    subnets: tuple[str, ...] = _entries(
        "allows subnets", r"\*|subnet-[0-9a-f]{8,17}", "be ids such as subnet-0123456789abcdef0, or *"
    )
    security_groups: tuple[str, ...] = _entries(
        "allows security groups",
        r"\*|default|sg-[0-9a-f]{8,17}",
        "be ids such as sg-0123456789abcdef0, default, or *",
    )
    public_ip: bool = False
    actions: tuple[str, ...] = _entries(
        "calls",
        r"[a-z][a-z0-9-]*:[A-Z][A-Za-z0-9]*",
        "name API calls such as ecs:UpdateService, without wildcards",
        (),
    )
    roles: tuple[str, ...] = _names(
        "allows roles named",
        "a role",
        r"[A-Za-z0-9_+=,.@-]{1,64}",
        "1 to 64 letters, digits and _ + = , . @ -",
    )
    connectors: Connectors = field(default_factory=dict)


ALLOW_LISTS: Mapping[str, AllowList] = {
    each.name: each.metadata["list"] for each in fields(AllowedTargets) if "list" in each.metadata
}
"""The lists by their names."""


def every_target(actions: tuple[str, ...] = ()) -> AllowedTargets:
    """Return the allowed targets of a stage whose jobs may call all targets; `aws` targets may make the calls in
    `actions`.
    """
    names = {name: ("*:*",) if name == "task_definitions" else ("*",) for name in ALLOW_LISTS}
    every = Connector(name="*", function="", tenants=("*",), hosts=("*",), cidrs=("0.0.0.0/0", "::/0"))
    return AllowedTargets(**(names | {"actions": actions}), public_ip=True, connectors={"*": every})


def name_refusal(kind: str, name: str, allowed: AllowedTargets) -> str | None:
    """Return the reason why a name in this list (a field of AllowedTargets) may not be used, with a remedy. None if it
    may be used.
    """
    patterns: tuple[str, ...] = getattr(allowed, kind)
    if any(_matches(kind, name, pattern) for pattern in patterns):
        return None
    does = ALLOW_LISTS[kind].does
    where = f", which {does} {', '.join(patterns)}" if patterns else f", where allowed_targets.{kind} is empty"
    return _not_allowed(kind, where)


def public_ip_refusal(wanted: bool, allowed: AllowedTargets) -> str | None:
    """Return the reason why a task may not have a public address. None if it may, or does not request one."""
    return _not_allowed("public_ip", "") if wanted and not allowed.public_ip else None


def target_refusal(target: CallableTarget, allowed: AllowedTargets) -> str | None:
    """Return the reason why a target may not be called, with the rejected name. None if it may be called."""
    for kind, name in TARGETS[type_of(target)].named(target):
        if problem := name_refusal(kind, name, allowed):
            return f"{name} {problem}"
    if isinstance(target, EcsTarget) and (problem := public_ip_refusal(target.public_ip, allowed)):
        return f"public_ip {problem}"
    return None


def _matches(kind: str, name: str, pattern: str) -> bool:
    if kind == "actions":
        return name == pattern
    if kind == "task_definitions":
        family, _, revision = name.partition(":")
        families, _, revisions = pattern.partition(":")
        return fnmatchcase(family, families) and revisions in ("*", revision)
    return fnmatchcase(name, pattern)


def _not_allowed(kind: str, where: str) -> str:
    return (
        f"is not allowed on this stage{where}; ask the operator to add it to the stage's setting allowed_targets.{kind}"
    )
