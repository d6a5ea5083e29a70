"""The secrets of a tenant in the store of a stage. The command writes values and never reads one.

`adapters/aws/secrets.py` describes where workers find a secret.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duecourse.cli.accounts import TENANT
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.output.documents import ListedSecret, utc
from duecourse.cli.terminal import CliError, UsageError

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The pattern for names of secrets."""


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The name of a secret, and the time of its last change."""

    name: str
    changed_at: datetime

    def document(self) -> ListedSecret:
        """Return the JSON document of the secret."""
        return {"name": self.name, "changed_at": utc(self.changed_at)}


@dataclass(frozen=True, slots=True)
class StoredSecrets(ABC):
    """The secrets of a tenant in a store. Its methods raise ClientError."""

    client: Any
    stage: str
    tenant: str

    @abstractmethod
    def put(self, name: str, value: str) -> None:
        """Create a secret, or replace its value."""

    @abstractmethod
    def all(self) -> Iterator[StoredSecret]:
        """Yield the secrets, without their values."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a secret. Raises CliError if there is none."""

    def erase(self, name: str) -> None:
        """Delete a secret so that it cannot be restored."""
        self.delete(name)

    def unknown(self, name: str) -> CliError:
        """Return the error for a name without a secret."""
        options = f"--stage {self.stage} --tenant {self.tenant}"
        return CliError(f"there is no secret {name}; list the secrets with duecourse secrets list {options}")


class Parameters(StoredSecrets):
    """SecureStrings of Parameter Store, with the account's default key."""

    @property
    def _folder(self) -> str:
        return f"/duecourse/{self.stage}/secrets/{self.tenant}"

    def put(self, name: str, value: str) -> None:
        """Write the parameter."""
        self.client.put_parameter(Name=f"{self._folder}/{name}", Value=value, Type="SecureString", Overwrite=True)

    def all(self) -> Iterator[StoredSecret]:
        """Yield the parameters of the tenant's folder."""
        chosen = [{"Key": "Path", "Option": "OneLevel", "Values": [self._folder]}]
        for page in self.client.get_paginator("describe_parameters").paginate(ParameterFilters=chosen):
            for each in page["Parameters"]:
                yield StoredSecret(each["Name"].rpartition("/")[2], each["LastModifiedDate"])

    def delete(self, name: str) -> None:
        """Delete the parameter."""
        try:
            self.client.delete_parameter(Name=f"{self._folder}/{name}")
        except self.client.exceptions.ParameterNotFound:
            raise self.unknown(name) from None


class ManagedSecrets(StoredSecrets):
    """Secrets of Secrets Manager, which keeps a deleted secret for 30 days."""

    @property
    def _prefix(self) -> str:
        return f"duecourse/{self.stage}/{self.tenant}/"

    def put(self, name: str, value: str) -> None:
        """Write a version; restore the secret first if it was deleted."""
        secret = self._prefix + name
        try:
            known = self.client.describe_secret(SecretId=secret)
        except self.client.exceptions.ResourceNotFoundException:
            self.client.create_secret(Name=secret, SecretString=value)
            return
        if "DeletedDate" in known:
            self.client.restore_secret(SecretId=secret)
        self.client.put_secret_value(SecretId=secret, SecretString=value)

    def all(self) -> Iterator[StoredSecret]:
        """Yield the secrets with the tenant's prefix."""
        chosen = [{"Key": "name", "Values": [self._prefix]}]
        for page in self.client.get_paginator("list_secrets").paginate(Filters=chosen):
            for each in page["SecretList"]:
                if each["Name"].startswith(self._prefix) and "DeletedDate" not in each:
                    yield StoredSecret(each["Name"].removeprefix(self._prefix), each["LastChangedDate"])

    def delete(self, name: str) -> None:
        """Schedule the deletion."""
        try:
            self.client.delete_secret(SecretId=self._prefix + name)
        except self.client.exceptions.ResourceNotFoundException:
            raise self.unknown(name) from None

    def erase(self, name: str) -> None:
        """Delete the secret immediately."""
        self.client.delete_secret(SecretId=self._prefix + name, ForceDeleteWithoutRecovery=True)


STORES: Mapping[str, type[Parameters | ManagedSecrets]] = {
    "parameters": Parameters,
    "secrets_manager": ManagedSecrets,
}
"""The stores by the values of the `secret_store` setting."""


def check(name: str | None, tenant: str) -> None:
    """Raise UsageError if the name or the tenant is not valid."""
    if name is not None and NAME.fullmatch(name) is None:
        raise UsageError(f"NAME must have 1 to 64 letters (A-Z, a-z), digits, _, . or -: {name}")
    if TENANT.fullmatch(tenant) is None:
        raise UsageError(f"--tenant must have 1 to 64 letters (A-Z, a-z), digits, - or _: {tenant}")


def secrets_of(stage: Stage, tenant: str) -> StoredSecrets:
    """Return the secrets of a tenant in the store that the stage's workers read."""
    store = stage.worker_settings()["DUECOURSE_SECRET_STORE"]
    service = "ssm" if store == "parameters" else "secretsmanager"
    return STORES[store](stage.clients(service), stage.name, tenant)
