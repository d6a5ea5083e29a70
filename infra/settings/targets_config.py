"""The resources that a stage's jobs can call in addition to HTTP: name patterns by kind of target, and the operator's
tasks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, AllowedTargets
from duecourse.domain.targets.targets import Connectors
from duecourse.limits import TASK_NAME

TASK_PARTS = ("target", "defaults")
MAX_TASK_BYTES = 4096  # the limit of a standard parameter

_PATTERN = re.compile(r"[A-Za-z0-9_.*?-]{1,256}")  # no [a-z]: IAM supports only * and ?
_REVISION = re.compile(r"\*|[1-9][0-9]{0,8}")
_TASK_NAME = re.compile(TASK_NAME)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class AllowedTargetsConfig(AllowedTargets):
    """Name patterns (`*` and `?` as in IAM) of this account's resources in this region.

    The API rejects jobs with other resources, and the workers' roles have no permissions for them. The default of each
    list is AllowList.standard. `task_definitions`: `family:7` allows revision 7, `family:*` every revision. `subnets`
    and `security_groups`: ids, `default` for the network's own group if a job has none, or `*` for all. `actions`: API
    calls for `aws` targets, with boto3's name of the service. `roles` are assumed only for `actions`.
    """

    task_roles: tuple[str, ...] = ()
    """The roles of ECS tasks. Only the workers' roles contain them; jobs cannot choose them."""
    connectors: Connectors = field(default_factory=dict, init=False)
    """Always empty: the stage has a setting of its own for them."""

    def __init__(self, **given: Any) -> None:
        """Each argument sets one of the lists, or `public_ip`. Raises TypeError for another name."""
        known = {name: each.standard for name, each in ALLOW_LISTS.items()} | {"public_ip": False}
        known["task_roles"] = known["roles"]
        object.__setattr__(self, "connectors", {})
        if unknown := sorted(given.keys() - known.keys()):
            raise TypeError(f"unknown lists: {', '.join(unknown)}; use {', '.join(known)}")
        for name, value in (known | given).items():
            object.__setattr__(self, name, value)

    @property
    def services(self) -> frozenset[str]:
        """The services of the allowed API calls, by boto3's names."""
        return frozenset(action.partition(":")[0] for action in self.actions)

    def to_json(self, connectors: Mapping[str, Any]) -> str:
        """Return the DUECOURSE_ALLOWED_TARGETS setting of the API and the workers. Empty lists allow nothing, so they
        are omitted.
        """
        kinds = [each.name for each in fields(self) if each.name not in ("task_roles", "connectors")]
        whole = {kind: getattr(self, kind) for kind in kinds} | {"connectors": connectors}
        return json.dumps({kind: value for kind, value in whole.items() if value}, separators=(",", ":"))

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        for each in fields(self):
            if each.name in ("public_ip", "connectors"):
                continue
            for text in getattr(self, each.name):
                known = ALLOW_LISTS.get(each.name)
                if known is not None and known.entry:
                    if re.fullmatch(known.entry, text) is None:
                        yield each.name, f"must {known.entry_wants}: {text!r}"
                    continue
                name, _, revision = text.partition(":") if each.name == "task_definitions" else (text, "", "")
                if _PATTERN.fullmatch(name) is None:
                    yield each.name, f"must be names with * and ? as wildcards, not ARNs: {text!r}"
                elif not name.strip("*?"):
                    yield each.name, f"must not allow every name: {text!r}"
                elif text != name and _REVISION.fullmatch(revision) is None:
                    yield each.name, f"must have a revision such as 7 or * after its colon: {text!r}"
        if self.actions and not self.roles:
            yield "roles", "must contain the roles that jobs assume to call the actions"


def task_json(task: Mapping[str, Any]) -> str:
    """Return the value of a task's parameter. Raises TypeError or ValueError for values that JSON does not support.

    Parameter Store rejects `{{` in values (it would refer to another parameter), but every template in a task contains
    it. In JSON, `{{` occurs only in strings, where an escape has the same meaning.
    """
    whole = {part: task.get(part, {}) for part in TASK_PARTS}
    return json.dumps(whole, separators=(",", ":"), allow_nan=False).replace("{{", r"\u007b\u007b")


def task_problems(tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each task that cannot be registered, with the reason. The target is validated when it is used."""
    for name, task in tasks.items():
        if _TASK_NAME.fullmatch(name) is None:
            yield name, "must have a name of 1 to 64 letters, digits, - and _"
        target, defaults = task.get("target"), task.get("defaults", {})
        if task.keys() - set(TASK_PARTS) or not isinstance(defaults, Mapping):
            yield name, 'must be {"target": {...}, "defaults": {...}}'
        elif not isinstance(target, Mapping) or not isinstance(target.get("type"), str) or target["type"] == "task":
            yield name, "must have a target with its type, other than task"
        else:
            try:
                fits = len(task_json(task).encode()) <= MAX_TASK_BYTES
            except (TypeError, ValueError) as problem:
                yield name, f"must be JSON: {problem}"
            else:
                if not fits:
                    yield name, f"must not take more than {MAX_TASK_BYTES} bytes as JSON"
