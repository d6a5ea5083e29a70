"""Service accounts of a stage with a user pool of its own: made by a command, used by a program, deleted."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.accounts import new_secret
from duecourse.cli.main import main
from duecourse.client import Client, ForbiddenError, UnauthorizedError
from duecourse.client.access import access
from tests.support.deployed import Template, deploy, put_asset
from tests.support.emulators import client, ministack
from tests.support.template import ROOT
from tests.support.waiting import PATIENCE_SECONDS

BODY = {"schedule": "rate(1 hour)", "target": {"type": "sqs", "queue": "duecourse-target-work"}}


@dataclass(frozen=True)
class Deployed:
    """The stage as an operator and as programs see it."""

    endpoint: str
    base: str
    pool: str

    def accounts(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["accounts", *arguments], env={"AWS_ENDPOINT_URL": self.endpoint})

    def created(self, name: str, tenant: str, *scopes: str) -> dict[str, str]:
        """The environment of the new account's program."""
        asked = [option for scope in scopes for option in ("--scope", scope)]
        result = self.accounts("create", name, "--tenant", tenant, *asked, "--json")
        assert result.exit_code == 0, result.output
        environment: dict[str, str] = json.loads(result.stdout)
        return environment

    def client(self, environment: dict[str, str]) -> Client:
        """As `Client.from_env()` makes it in that environment; only the API's address is the emulator's own."""
        auth = access(environment=environment).auth()
        return Client(self.base, auth=auth, timeout=PATIENCE_SECONDS, trust_env=False, retries=0)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    def adapted(made: Template) -> None:
        """The emulator knows no ProviderURL of a pool and no look of its login page; as stage `local` is uploaded it
        has no code for the claims.
        """
        outputs = made["Outputs"]
        pool = outputs["UserPoolId"]["Value"]["Ref"]
        unknown = json.dumps({"Fn::GetAtt": [pool, "ProviderURL"]})
        issuer = json.dumps({"Fn::Sub": f"https://cognito-idp.${{AWS::Region}}.amazonaws.com/${{{pool}}}"})
        resources = json.loads(json.dumps(made["Resources"]).replace(unknown, issuer))
        made["Resources"] = {
            name: each for name, each in resources.items() if each["Type"] != "AWS::Cognito::ManagedLoginBranding"
        }
        code = resources[outputs["ClaimsFunction"]["Value"]["Ref"]]["Properties"]["Code"]
        handler = (ROOT / "functions" / "token_claims" / "handler.py").read_bytes()
        put_asset(endpoint, code["S3Key"], {"handler.py": handler})

    with ministack(tmp_path_factory.mktemp("accounts")) as endpoint:
        outputs = deploy(endpoint, adapted, auth="cognito")
        base = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default"
        yield Deployed(endpoint, base, outputs["UserPoolId"])


def test_service_accounts_one_command_grants_a_program_access(deployed: Deployed) -> None:
    environment = deployed.created("reports", "acme", "jobs:read", "jobs:write")
    assert set(environment) == {
        *("DUECOURSE_API", "DUECOURSE_ISSUER", "DUECOURSE_CLIENT_ID", "DUECOURSE_ACCOUNT", "DUECOURSE_CLIENT_SECRET")
    }
    with deployed.client(environment) as program:
        made = program.create_job({**BODY, "id": "nightly"})
        assert (made.document["tenant"], [job.id for job in program.list_jobs()]) == ("acme", ["nightly"])
        with pytest.raises(ForbiddenError, match="ops"):
            program.pause_jobs(all=True)


def test_service_accounts_see_only_their_tenant(deployed: Deployed) -> None:
    with deployed.client(deployed.created("elsewhere", "globex", "jobs:read", "jobs:write")) as program:
        program.create_job({**BODY, "id": "secret-plan"})
    with deployed.client(deployed.created("curious", "initech", "jobs:read")) as program:
        assert list(program.list_jobs()) == []


def test_service_accounts_scope_can_be_narrowed_to_a_tag(deployed: Deployed) -> None:
    with deployed.client(deployed.created("all", "umbrella", "jobs:write")) as program:
        program.create_job({**BODY, "id": "invoices", "tags": ["billing"]})
        program.create_job({**BODY, "id": "payroll"})
    with deployed.client(deployed.created("billing", "umbrella", "jobs:read:tag=billing")) as program:
        assert [job.id for job in program.list_jobs()] == ["invoices"]
        with pytest.raises(ForbiddenError, match="must have one of the tags"):
            program.get_job("payroll")


def test_service_accounts_token_has_tenant_and_scopes_but_no_user_pool_scopes(deployed: Deployed) -> None:
    """So that a program cannot change its own account."""
    environment = deployed.created("honest", "acme", "jobs:read")
    shown = {"USERNAME": environment["DUECOURSE_ACCOUNT"], "PASSWORD": environment["DUECOURSE_CLIENT_SECRET"]}
    answer = client("cognito-idp", deployed.endpoint).initiate_auth(
        ClientId=environment["DUECOURSE_CLIENT_ID"], AuthFlow="USER_PASSWORD_AUTH", AuthParameters=shown
    )
    claims = json.loads(urlsafe_b64decode(answer["AuthenticationResult"]["AccessToken"].split(".")[1] + "=="))
    assert (claims["tenant"], claims["scope"]) == ("acme", "duecourse/jobs:read")


def test_service_accounts_get_no_further_token_after_deletion(deployed: Deployed) -> None:
    environment = deployed.created("short-lived", "acme", "jobs:read")
    assert deployed.accounts("delete", "short-lived", "--yes").exit_code == 0
    with (
        deployed.client(environment) as program,
        pytest.raises(UnauthorizedError, match="the issuer responded with 400"),
    ):
        program.list_jobs()
    again = deployed.accounts("delete", "short-lived", "--yes")
    assert (again.exit_code, "there is no account short-lived" in again.stderr) == (1, True)


def test_service_accounts_list_omits_people_and_secrets(deployed: Deployed) -> None:
    client("cognito-idp", deployed.endpoint).admin_create_user(
        UserPoolId=deployed.pool, Username="ann@example.com", MessageAction="SUPPRESS", TemporaryPassword=new_secret()
    )
    secret = deployed.created("listed", "acme", "ops", "jobs:read:tag=a/b")["DUECOURSE_CLIENT_SECRET"]
    result = deployed.accounts("list", "--json")
    found = {item["name"]: item for item in json.loads(result.stdout)["items"]}
    assert (found["listed"]["tenant"], sorted(found["listed"]["scopes"])) == ("acme", ["jobs:read:tag=a/b", "ops"])
    assert secret not in result.stdout
    assert "ann" not in result.stdout
    rows = [re.split(r"\s{2,}", line) for line in deployed.accounts("list").stdout.splitlines()]
    assert ["listed", "acme", "jobs:read:tag=a/b ops"] in rows


def test_service_accounts_taken_name_is_refused_without_changes(deployed: Deployed) -> None:
    first = deployed.created("only-one", "acme", "jobs:read")
    second = deployed.accounts("create", "only-one", "--tenant", "globex", "--scope", "ops")
    assert (second.exit_code, "the account only-one already exists" in second.stderr) == (1, True)
    with deployed.client(first) as program:
        program.list_jobs()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("Reports", "--tenant", "acme", "--scope", "ops"), "NAME must have 1 to 40 lowercase letters"),
        (("reports", "--tenant", "a b", "--scope", "ops"), "--tenant must have 1 to 64 letters"),
        (("reports", "--tenant", "acme", "--scope", "admin"), "--scope must be jobs:read, jobs:write or ops"),
        (("reports", "--tenant", "acme", "--scope", "ops:tag=a"), "--scope must be"),
    ],
)
def test_service_accounts_invalid_arguments_are_refused_before_any_change(
    arguments: tuple[str, ...], problem: str
) -> None:
    result = CliRunner().invoke(
        main, ["accounts", "create", *arguments], env={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    )
    assert (result.exit_code, problem in result.stderr) == (2, True), result.output


def test_service_accounts_are_shown_as_shell_assignments_when_created(deployed: Deployed) -> None:
    result = deployed.accounts("create", "for-a-shell", "--tenant", "acme", "--scope", "jobs:read")
    assert all(line.startswith("export DUECOURSE_") for line in result.stdout.splitlines())
