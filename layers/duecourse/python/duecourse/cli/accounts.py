"""Service accounts of a stage's own user pool: users that are programs, each with a tenant and its scopes.

An account is a user whose address is made from its name (it cannot receive mail) and whose password is its
secret. docs/decisions/018-service-accounts.md says why it is no client of its own.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from duecourse.cli.doctor.stage import Stage
from duecourse.cli.terminal import CliError, UsageError

ENDING = "@service-accounts.duecourse.invalid"
"""What their addresses end in (RFC 2606: no such domain can exist). `functions/token_claims` knows it, too."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")
SCOPE = re.compile(r"jobs:read|jobs:write|ops|jobs:(read|write):tag=[A-Za-z0-9_.:/=+@-]{1,64}")
ATTRIBUTE = "custom:tenant"
SECRET_BYTES = 32
ALL_KINDS = "-aA1"
"""What a password must hold by the pool's policy: a symbol, a small letter, a capital and a digit."""


@dataclass(frozen=True, slots=True)
class Account:
    """A service account as the pool has it; `id` is its user name there."""

    name: str
    id: str
    tenant: str
    scopes: tuple[str, ...]
    created_at: datetime

    def document(self) -> dict[str, Any]:
        """For programs."""
        created = self.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"name": self.name, "tenant": self.tenant, "scopes": list(self.scopes), "created_at": created}


def check(name: str, tenant: str, scopes: Sequence[str]) -> None:
    """Raises UsageError that names what is wrong."""
    if NAME.fullmatch(name) is None:
        raise UsageError(f"NAME must have 1 to 40 lowercase letters, digits or -: {name}")
    if TENANT.fullmatch(tenant) is None:
        raise UsageError(f"--tenant must have 1 to 64 letters (a-z), digits, - or _: {tenant}")
    for scope in scopes:
        if SCOPE.fullmatch(scope) is None:
            choice = (
                "jobs:read, jobs:write or ops; jobs:read and jobs:write can be limited to a tag, such as "
                "jobs:read:tag=billing"
            )
            raise UsageError(f"--scope must be {choice}: {scope}")


def new_secret() -> str:
    """A password of 256 random bits."""
    return secrets.token_urlsafe(SECRET_BYTES) + ALL_KINDS


@dataclass(frozen=True, slots=True)
class Accounts:
    """Makes, lists and deletes them with the operator's credentials."""

    stage: Stage
    pool: str

    @classmethod
    def of(cls, stage: Stage) -> Accounts:
        """Raises UsageError for a stage without a user pool: it says what to do at the issuer."""
        pool = stage.outputs.get("UserPoolId")
        if pool is None:
            raise UsageError(
                f"{stage.stack} has no user pool. With your own issuer (auth jwt), create the account there: a "
                "client with a secret and the client credentials grant; its tokens need the stage's audience, the "
                "tenant's claim and the scopes (docs/api.md, service accounts). With auth iam the account is an IAM "
                "role with permission for execute-api:Invoke"
            )
        return cls(stage, pool)

    @property
    def _cognito(self) -> Any:
        return self.stage.clients("cognito-idp")

    def create(self, name: str, tenant: str, scopes: Sequence[str], secret: str) -> dict[str, str]:
        """A new account; the environment of a program that uses it. The secret is kept nowhere.

        The secret counts from the last step on: an account whose creation was interrupted opens nothing, and is deleted
        like any other.
        Raises CliError where there is one of that name.
        """
        cognito, pool = self._cognito, {"UserPoolId": self.pool}
        address = name + ENDING
        attributes = [{"Name": "email", "Value": address}, {"Name": ATTRIBUTE, "Value": tenant}]
        try:
            made = cognito.admin_create_user(
                **pool, Username=address, UserAttributes=attributes, TemporaryPassword=secret, MessageAction="SUPPRESS"
            )
        except cognito.exceptions.UsernameExistsException:
            raise CliError(f"the account {name} already exists; choose another name, or delete it first") from None
        user = {**pool, "Username": made["User"]["Username"]}
        try:
            for scope in dict.fromkeys(scopes):
                self._join(user, scope)
            cognito.admin_set_user_password(**user, Password=secret, Permanent=True)
        except ClientError:
            cognito.admin_delete_user(**user)
            raise
        return {
            "DUECOURSE_API": self.stage.outputs["ApiUrl"],
            "DUECOURSE_ISSUER": f"{cognito.meta.endpoint_url}/{self.pool}",
            "DUECOURSE_CLIENT_ID": self.stage.outputs["UserPoolClientId"],
            "DUECOURSE_ACCOUNT": user["Username"],
            "DUECOURSE_CLIENT_SECRET": secret,
        }

    def _join(self, user: dict[str, str], scope: str) -> None:
        """Put the user into the group of a scope; the stack has none for tag-scoped permissions."""
        try:
            self._cognito.admin_add_user_to_group(**user, GroupName=scope)
        except self._cognito.exceptions.ResourceNotFoundException:
            with suppress(self._cognito.exceptions.GroupExistsException):  # it was created at the same moment
                self._cognito.create_group(UserPoolId=self.pool, GroupName=scope)
            self._cognito.admin_add_user_to_group(**user, GroupName=scope)

    def all(self) -> Iterator[Account]:
        """Every account of the stage."""
        for page in self._cognito.get_paginator("list_users").paginate(UserPoolId=self.pool):
            for user in page["Users"]:
                said = {each["Name"]: each["Value"] for each in user["Attributes"]}
                name, ending, _ = said.get("email", "").partition(ENDING)
                if ending:
                    scopes = tuple(self._scopes(user["Username"]))
                    yield Account(name, user["Username"], said.get(ATTRIBUTE, ""), scopes, user["UserCreateDate"])

    def _scopes(self, user: str) -> Iterator[str]:
        pages = self._cognito.get_paginator("admin_list_groups_for_user").paginate(UserPoolId=self.pool, Username=user)
        return (group["GroupName"] for page in pages for group in page["Groups"])

    def delete(self, name: str) -> None:
        """No further token is issued. Raises CliError where there is no such account."""
        found = self._cognito.list_users(UserPoolId=self.pool, Filter=f'email = "{name}{ENDING}"')["Users"]
        if not found:
            raise CliError(
                f"there is no account {name}; list the accounts with duecourse accounts list --stage {self.stage.name}"
            )
        for user in found:
            self._cognito.admin_delete_user(UserPoolId=self.pool, Username=user["Username"])


def refused(error: ClientError) -> CliError:
    """What AWS rejected, in a line."""
    said = error.response["Error"]
    return CliError(f"{error.operation_name}: {said.get('Message') or said.get('Code')}")
