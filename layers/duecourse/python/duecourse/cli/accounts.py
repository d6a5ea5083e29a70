"""Service accounts of a stage's Cognito user pool: users for programs, each with a tenant and scopes.

An account is a user whose address is derived from its name and cannot receive mail. The account's secret is the user's
password. docs/decisions/018-service-accounts.md explains why an account is not a separate client.
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
from duecourse.cli.output.documents import AccountEnvironment, ListedAccount, utc
from duecourse.cli.terminal import CliError, UsageError

ENDING = "@service-accounts.duecourse.invalid"
"""The domain of the accounts' addresses (RFC 2606: this domain cannot exist). `functions/token_claims` also contains
it.
"""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")
SCOPE = re.compile(r"jobs:read|jobs:write|ops|jobs:(read|write):tag=[A-Za-z0-9_.:/=+@-]{1,64}")
ATTRIBUTE = "custom:tenant"
SECRET_BYTES = 32
ALL_KINDS = "-aA1"
"""The pool's policy requires a symbol, a lower-case letter, an upper-case letter and a digit in a password."""


@dataclass(frozen=True, slots=True)
class Account:
    """A service account in the pool. `id` is its user name there."""

    name: str
    id: str
    tenant: str
    scopes: tuple[str, ...]
    created_at: datetime

    def document(self) -> ListedAccount:
        """Return the JSON document of the account."""
        return {
            "name": self.name,
            "tenant": self.tenant,
            "scopes": list(self.scopes),
            "created_at": utc(self.created_at),
        }


def check(name: str, tenant: str, scopes: Sequence[str]) -> None:
    """Raise UsageError for an invalid name, tenant or scope."""
    if NAME.fullmatch(name) is None:
        raise UsageError(f"NAME must have 1 to 40 lowercase letters, digits or -: {name}")
    if TENANT.fullmatch(tenant) is None:
        raise UsageError(f"--tenant must have 1 to 64 letters (A-Z, a-z), digits, - or _: {tenant}")
    for scope in scopes:
        if SCOPE.fullmatch(scope) is None:
            choice = (
                "jobs:read, jobs:write or ops; jobs:read and jobs:write can be limited to a tag, such as "
                "jobs:read:tag=billing"
            )
            raise UsageError(f"--scope must be {choice}: {scope}")


def new_secret() -> str:
    """Return a password of 256 random bits."""
    return secrets.token_urlsafe(SECRET_BYTES) + ALL_KINDS


@dataclass(frozen=True, slots=True)
class Accounts:
    """Creates, lists and deletes accounts with the operator's credentials."""

    stage: Stage
    pool: str

    @classmethod
    def of(cls, stage: Stage) -> Accounts:
        """Return the accounts of a stage. Raises UsageError for a stage without a user pool, with the steps for an
        external issuer.
        """
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

    def create(self, name: str, tenant: str, scopes: Sequence[str], secret: str) -> AccountEnvironment:
        """Create an account. Return the environment of a program that uses it. The secret is not stored.

        The last step makes the secret valid. An account whose creation was interrupted cannot log in, and can be
        deleted like any other. Raises CliError if the name exists.
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
        """Add the user to the group of a scope. The stack has no groups for tag-scoped permissions, so this creates
        them.
        """
        try:
            self._cognito.admin_add_user_to_group(**user, GroupName=scope)
        except self._cognito.exceptions.ResourceNotFoundException:
            with suppress(self._cognito.exceptions.GroupExistsException):  # another call created it at the same time
                self._cognito.create_group(UserPoolId=self.pool, GroupName=scope)
            self._cognito.admin_add_user_to_group(**user, GroupName=scope)

    def all(self) -> Iterator[Account]:
        """Yield every account of the stage."""
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
        """Delete an account, so that it does not get more tokens. Raises CliError if it does not exist."""
        found = self._cognito.list_users(UserPoolId=self.pool, Filter=f'email = "{name}{ENDING}"')["Users"]
        if not found:
            raise CliError(
                f"there is no account {name}; list the accounts with duecourse accounts list --stage {self.stage.name}"
            )
        for user in found:
            self._cognito.admin_delete_user(UserPoolId=self.pool, Username=user["Username"])


def refused(error: ClientError) -> CliError:
    """Return AWS's error as one line."""
    said = error.response["Error"]
    return CliError(f"{error.operation_name}: {said.get('Message') or said.get('Code')}")
