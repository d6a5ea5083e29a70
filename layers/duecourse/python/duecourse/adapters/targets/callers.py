"""One caller for each kind of target. Each is created at its first call, so that a cold start creates only the caller
that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Protocol, Self

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.names import Arns
from duecourse.domain.targets.kinds import TARGETS, type_of
from duecourse.domain.targets.targets import CallableTarget, Outcome
from duecourse.ports import Call, Clock, Secrets, TokenSigner


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The dependencies of callers. `private` allows HTTP targets at addresses that are not public."""

    private: bool
    clock: Clock
    arns: Arns
    secrets: Secrets
    clients: AwsClients
    signer: TokenSigner | None = None


class TargetCaller(Protocol):
    """Calls targets of one kind. Safe to share between threads."""

    @classmethod
    def made_of(cls, means: Means, client_for: Any) -> Self:
        """Return the caller of a process. `client_for` returns clients of the kind's service (ClientFor)."""

    def call(self, call: Call, target: Any) -> Outcome:
        """Call the target and return the outcome. Errors of the target are outcomes, not exceptions."""


class Callers:
    """The callers of a process, each shared by its threads. Two threads that are first at the same
    time may create two.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._made: dict[str, TargetCaller] = {}

    def of(self, target: CallableTarget) -> TargetCaller:
        """Return the caller for this kind of target."""
        word = type_of(target)
        if word not in self._made:
            self._made[word] = self._make(word)
        return self._made[word]

    def _make(self, word: str) -> TargetCaller:
        kind = TARGETS[word]
        if kind.call is None:
            raise TypeError(f"targets of type {word} cannot be called directly")
        module, _, name = kind.call.partition(":")
        caller: type[TargetCaller] = getattr(import_module(module), name)
        return caller.made_of(self._means, partial(self._means.clients.calling, kind.service))
