"""Secrets without a store."""

from dataclasses import dataclass, field

from duecourse.ports import SecretsUnavailableError, SecretUnknownError


@dataclass
class InMemorySecrets:
    """ports.Secrets: by tenant and name. It notes what it is asked for; while `down` says why, it has no answers."""

    known: dict[tuple[str, str], str] = field(default_factory=dict)
    down: str | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)

    def get(self, tenant: str, name: str) -> str:
        self.asked.append((tenant, name))
        if self.down is not None:
            raise SecretsUnavailableError(self.down)
        try:
            return self.known[tenant, name]
        except KeyError:
            raise SecretUnknownError(f"there is no secret named {name}") from None
