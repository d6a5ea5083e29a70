"""What is checked before and after a stage is deployed, and the two deployments that create it.

- The discovery document of the stage's issuer is read first. Without it, API Gateway refuses the authorizer after some
  minutes, or every token later.
- The account must have the concurrency that the stage reserves. Without it, CloudFormation fails after some minutes.
- A stage that keeps its data is created in two deployments. The second deployment protects the stack from deletion.
  `cdk deploy` would protect the stack before it creates any resource, and CloudFormation could not roll back a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from duecourse.cli.doctor import topics
from duecourse.cli.doctor.stage import Clients, find_stage
from duecourse.cli.terminal import CliError
from duecourse.limits import UNRESERVED_CONCURRENCY

NEVER_MADE = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})
"""The states of a stack whose first deployment failed, with or without a rollback (`--no-rollback`). Such a stack can
only be deleted. `cdk deploy` deletes it and creates it again (AWS CloudFormation User Guide, "Stack status codes").
"""
NOT_DELETED = "DELETE_FAILED"
"""The state of a stack of which some resources could not be deleted. It can neither be updated nor created."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

IN_REVIEW = "REVIEW_IN_PROGRESS"
"""The state of a stack that has only a change set."""

DISCOVERY_SECONDS = 10

Fetch = Callable[..., httpx.Response]
"""A function like `httpx.get`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The stage to deploy."""

    stage: str
    protected: bool
    """Whether the stack is protected from deletion."""
    issuer: str | None
    """The issuer of the tokens; None if the stage has users of its own, or none."""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """The reserved concurrency by function (`tick`, `connector office`). Functions that reserve nothing are omitted."""
    most_concurrent: int
    """The maximum number of concurrent executions of the lanes, and the reserved ones."""
    account_concurrency: int
    """The account's quota of concurrent executions, as the settings have it."""
    unreserving: str
    """How the caller deploys the stage without reserved concurrency."""
    unprotecting: str
    """How the caller deploys the stage without protection."""

    @property
    def stack_name(self) -> str:
        """The stack's name in the account."""
        return f"Duecourse-{self.stage}"


@dataclass(frozen=True, slots=True)
class Found:
    """The current stack. Without a status the stack does not exist."""

    status: str | None = None
    protected: bool = False
    outputs: Mapping[str, str] | None = None

    @property
    def never_made(self) -> bool:
        """Whether the first deployment of the stack failed."""
        return self.status in NEVER_MADE

    @property
    def is_new(self) -> bool:
        """Whether the next deployment creates the stack."""
        return self.never_made or self.status in {None, IN_REVIEW}


def problem_of_endpoint(endpoint: str | None) -> str | None:
    """Return a message if the environment's AWS_ENDPOINT_URL is an emulator, or None."""
    if endpoint is None or urlsplit(endpoint).hostname not in LOOPBACK:
        return None
    return (
        f"AWS_ENDPOINT_URL is {endpoint}, a local stack instead of AWS; run this command in a terminal without the "
        "variables that `make local` prints"
    )


def deploy(
    wanted: Wanted,
    clients: Clients,
    run: Callable[[bool], int],
    say: Callable[[str], None],
    *,
    fetch: Fetch,
    others: Callable[[], Sequence[Wanted]] = tuple,
) -> int:
    """Check the account and the stack, then deploy. Return the exit code.

    `run` deploys the stage with or without protection. `say` prints one line. `fetch` reads an address. `others` are
    the stages that may share the account, or raise CliError.
    """
    if wanted.issuer is not None and (problem := problem_of_issuer(wanted.issuer, fetch)) is not None:
        say(problem)
        return 1
    try:
        found = find(clients("cloudformation"), wanted.stack_name)
        problem = problem_of_stack(wanted, found, clients)
        if problem is not None:
            say(problem)
            return 1
        if found.never_made and found.protected:
            say(
                f"{wanted.stack_name} was never created; switching off its deletion protection, so that it can be "
                "deleted"
            )
            clients("cloudformation").update_termination_protection(
                StackName=wanted.stack_name, EnableTerminationProtection=False
            )
    except NoCredentialsError:
        say("there are no AWS credentials; log in to AWS, set AWS_PROFILE and AWS_REGION, and run this again")
        return 1
    except (BotoCoreError, ClientError) as error:
        warning = f"the account and the stack could not be checked: {error}"
        if wanted.protected:
            warning += f". If {wanted.stack_name} does not exist yet, deploy it with {wanted.unprotecting} first"
        say(warning)
        found = Found(status="unknown")
    for protected in steps(wanted, found):
        status = run(protected)
        if status:
            return status
    _say_what_is_wrong(wanted, others, clients, say)
    return 0


def steps(wanted: Wanted, found: Found) -> list[bool]:
    """Return for each deployment whether it protects the stage."""
    return [False, True] if found.is_new and wanted.protected else [wanted.protected]


def problem_of_stack(wanted: Wanted, found: Found, clients: Clients) -> str | None:
    """Return the reason why the stage cannot be deployed now, with its remedy, or None. Raises BotoCoreError and
    ClientError.
    """
    if (problem := _problem_of_concurrency(wanted, found, clients)) is not None:
        return problem
    if found.status == NOT_DELETED:
        return (
            f"{wanted.stack_name} was not deleted completely; delete it again (docs/deleting.md), then deploy: "
            f"aws cloudformation delete-stack --stack-name {wanted.stack_name}"
        )
    return None


def problem_of_issuer(issuer: str, fetch: Fetch) -> str | None:
    """Return a message if an issuer has no valid discovery document (OpenID Connect Discovery 1.0, section 4), or
    None.
    """
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        answer = fetch(address, timeout=DISCOVERY_SECONDS, follow_redirects=True)
        document = answer.raise_for_status().json()
        named, keys = document["issuer"], document["jwks_uri"]
    except httpx.HTTPError as error:
        return f"the issuer's {address} could not be read ({str(error) or type(error).__name__}); correct issuer"
    except (ValueError, KeyError, TypeError):
        return f"the issuer's {address} is not a discovery document with issuer and jwks_uri; correct issuer"
    if named != issuer:
        return f"{address} names the issuer {named!r}, and tokens contain that name: set issuer to it"
    return None if str(keys).startswith("https://") else f"the jwks_uri in {address} must be an https address"


def _say_what_is_wrong(
    wanted: Wanted, others: Callable[[], Sequence[Wanted]], clients: Clients, say: Callable[[str], None]
) -> None:
    """Warn if no confirmed subscription receives the pages of the deployed stage, or if its lanes and those of the
    other stages exceed the quota of the account.
    """
    try:
        quota = int(clients("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"])
        check = topics.judge(topics.subscribers(find_stage(wanted.stage, clients)))
    except (BotoCoreError, ClientError, CliError) as error:
        say(f"the subscribers and the quota could not be checked: {error}")
        return
    try:
        more = others()
    except CliError as error:
        say(f"the concurrency of the other stages could not be checked: {error}")
        more = ()
    for each in (
        problem_of_lanes([wanted, *more], quota=quota),
        None if check.do is None else f"{check.says}; {check.do}",
    ):
        if each is not None:
            say(each)


def problem_of_lanes(stages: Sequence[Wanted], *, quota: int) -> str | None:
    """Return a warning if the lanes of the stages, of which the first is deployed, can use more executions together
    than the account's `quota`, or if the setting has another number. Otherwise return None.
    """
    wanted = stages[0]
    taken = sum(each.most_concurrent for each in stages)
    if taken > quota:
        names = " and ".join(each.stage for each in stages)
        return (
            f"stage {names} can use {taken} concurrent executions, and the account has {quota}: a burst "
            "throttles its runs; raise the quota (Service Quotas, AWS Lambda, Concurrent executions), or lower "
            "max_concurrency of the lanes"
        )
    if wanted.account_concurrency > quota:
        return (
            f"the account has {quota} concurrent executions, not {wanted.account_concurrency}: set "
            f"account_concurrency of stage {wanted.stage}, which the alarm workers-throttled names"
        )
    return None


def find(cloudformation: Any, name: str) -> Found:
    """Return the current stack. Raises BotoCoreError and ClientError."""
    try:
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in error.response["Error"].get("Message", ""):
            return Found()
        raise
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}
    return Found(stack["StackStatus"], bool(stack.get("EnableTerminationProtection")), outputs)


def _problem_of_concurrency(wanted: Wanted, found: Found, clients: Clients) -> str | None:
    if not wanted.reserved:
        return None
    functions = clients("lambda")
    limit = functions.get_account_settings()["AccountLimit"]
    held = {
        name: functions.get_function_concurrency(FunctionName=found.outputs[output])
        for name in wanted.reserved
        if found.outputs is not None and (output := _output(name)) in found.outputs
    }
    return problem_of_concurrency(
        wanted,
        {name: each.get("ReservedConcurrentExecutions", 0) for name, each in held.items()},
        quota=limit["ConcurrentExecutions"],
        unreserved=limit["UnreservedConcurrentExecutions"],
    )


def _output(name: str) -> str:
    """Return the output with a function's name: `TickFunction`, `ConnectorOfficeFunction`."""
    return f"{''.join(map(str.capitalize, name.split()))}Function"


def problem_of_concurrency(wanted: Wanted, held: Mapping[str, int], *, quota: int, unreserved: int) -> str | None:
    """Return a message if the account has too little concurrency for the stage, otherwise None.

    `held` is the current reserved concurrency of the stage's functions by name. Concurrency that one function releases
    does not count for another function, because CloudFormation changes functions in any order.
    """
    wishes = wanted.reserved
    more = sum(max(wish - held.get(name, 0), 0) for name, wish in wishes.items())
    missing = more + UNRESERVED_CONCURRENCY - unreserved
    if not more or missing <= 0:
        return None
    return (
        f"stage {wanted.stage} reserves {sum(wishes.values())} executions "
        f"({', '.join(f'{name} {wish}' for name, wish in wishes.items())}), {more} more than now; {unreserved} of "
        f"the account's {quota} are free, of which AWS keeps {UNRESERVED_CONCURRENCY}: {missing} are missing; raise "
        f"the quota (Service Quotas, AWS Lambda, Concurrent executions), or {wanted.unreserving}"
    )
