"""Both stores of secrets, within this process (moto): one suite for the two of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.secrets import SecretsManagerSecrets, SsmSecrets
from duecourse.cli.secrets import NAME, STORES, StoredSecrets
from duecourse.cli.terminal import CliError
from duecourse.domain.targets.template import SECRET_NAME
from duecourse.ports import NoAnswerError, Secrets, SecretsUnavailableError, SecretUnknownError, ServiceError
from duecourse.testing.clock import SettableClock


def first() -> float:
    """A draw: secrets expire as late as possible."""
    return 0.0


STAGE = "test"


@dataclass(frozen=True)
class Store:
    """A store, how to put a secret into it (or a new one in its place), and how to make another over a client."""

    secrets: Secrets
    put: Callable[[str, str, str], object]
    over: Callable[[Any], Secrets]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsClients]:
    """The factory that production uses, with moto behind it."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1")
    with mock_aws():
        yield AwsClients(session)


@pytest.fixture(params=["parameters", "secrets_manager"])
def store(request: pytest.FixtureRequest, clients: AwsClients, clock: SettableClock) -> Store:
    if request.param == "parameters":
        ssm = clients.get("ssm")

        def put_parameter(tenant: str, name: str, value: str) -> object:
            path = f"/duecourse/{STAGE}/secrets/{tenant}/{name}"
            return ssm.put_parameter(Name=path, Value=value, Type="SecureString", Overwrite=True)

        return Store(
            SsmSecrets(ssm, STAGE, clock, first),
            put_parameter,
            lambda client: SsmSecrets(client, STAGE, clock, first),
        )
    manager = clients.get("secretsmanager")

    def put_secret(tenant: str, name: str, value: str) -> object:
        path = f"duecourse/{STAGE}/{tenant}/{name}"
        try:
            return manager.create_secret(Name=path, SecretString=value)
        except ServiceError:
            return manager.put_secret_value(SecretId=path, SecretString=value)

    return Store(
        SecretsManagerSecrets(manager, STAGE, clock, first),
        put_secret,
        lambda client: SecretsManagerSecrets(client, STAGE, clock, first),
    )


class Broken:
    """A client whose every request fails alike, and counts."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem
        self.asked = 0

    def __getattr__(self, request: str) -> Callable[..., Any]:
        def ask(**fields: Any) -> Any:
            self.asked += 1
            raise self.problem

        return ask


def refusal(code: str) -> ServiceError:
    return ServiceError(code, "because of arn:aws:iam::1:role/x")


def test_secrets_value_is_read_as_written(store):
    store.put("acme", "api.key_1-a", " s3cr3t é\n")
    assert store.secrets.get("acme", "api.key_1-a") == " s3cr3t é\n"


def test_secrets_of_other_tenants_are_not_visible(store):
    store.put("acme", "key", "acme's")
    store.put("other", "key", "other's")
    assert store.secrets.get("acme", "key") == "acme's"
    assert store.secrets.get("other", "key") == "other's"
    with pytest.raises(SecretUnknownError):
        store.secrets.get("third", "key")


@pytest.mark.parametrize(
    "name", ["", "../other/key", "a/b", "key:1", "x" * 65, "arn:aws:ssm:eu-west-1:1:parameter/x", "key\n"]
)
def test_secrets_invalid_names_are_unknown_without_a_lookup(store, name):
    store.put("other", "key", "other's")
    broken = Broken(AssertionError("it must not even be asked for"))
    with pytest.raises(SecretUnknownError):
        store.over(broken).get("acme", name)


def test_secrets_changed_value_is_used_within_a_minute(store, clock):
    store.put("acme", "key", "old")
    assert store.secrets.get("acme", "key") == "old"
    store.put("acme", "key", "new")
    assert store.secrets.get("acme", "key") == "old"
    clock.advance(60)
    assert store.secrets.get("acme", "key") == "new"


def test_secrets_are_found_within_five_seconds_after_being_added(store, clock):
    with pytest.raises(SecretUnknownError, match="no secret named key"):
        store.secrets.get("acme", "key")
    store.put("acme", "key", "added")
    with pytest.raises(SecretUnknownError):
        store.secrets.get("acme", "key")
    clock.advance(5)
    assert store.secrets.get("acme", "key") == "added"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (refusal("ThrottlingException"), "ThrottlingException"),
        (refusal("InternalServerError"), "InternalServerError"),
        (refusal("AccessDeniedException"), "AccessDeniedException"),
        (NoAnswerError("GetParameter: refused"), "NoAnswerError"),
    ],
)
def test_secrets_unavailable_store_is_not_an_unknown_secret_and_is_retried(store, problem, reason):
    client = Broken(problem)
    secrets = store.over(client)
    for _ in range(2):
        with pytest.raises(SecretsUnavailableError) as raised:
            secrets.get("acme", "key")
    assert str(raised.value) == reason  # it stands in the run's record: no ARNs, no request ids
    assert client.asked == 2


def test_secrets_pending_deletion_is_unknown(clients, clock):
    manager = clients.get("secretsmanager")
    manager.create_secret(Name=f"duecourse/{STAGE}/acme/key", SecretString="value")
    manager.delete_secret(SecretId=f"duecourse/{STAGE}/acme/key", RecoveryWindowInDays=7)
    with pytest.raises(SecretUnknownError):
        SecretsManagerSecrets(manager, STAGE, clock, first).get("acme", "key")


def test_secrets_value_without_text_is_unknown(clients, clock):
    manager = clients.get("secretsmanager")
    manager.create_secret(Name=f"duecourse/{STAGE}/acme/key", SecretBinary=b"\x00\x01")
    with pytest.raises(SecretUnknownError):
        SecretsManagerSecrets(manager, STAGE, clock, first).get("acme", "key")


@pytest.fixture(params=["parameters", "secrets_manager"])
def written(request: pytest.FixtureRequest, clients: AwsClients, clock: SettableClock) -> tuple[StoredSecrets, Secrets]:
    """Secrets of acme as the command writes them, and as a worker reads them."""
    service = "ssm" if request.param == "parameters" else "secretsmanager"
    read = SsmSecrets if service == "ssm" else SecretsManagerSecrets
    return STORES[request.param](boto3.client(service, "eu-west-1"), STAGE, "acme"), read(
        clients.get(service), STAGE, clock, first
    )


def test_secrets_command_and_jobs_accept_the_same_names():
    assert NAME.pattern == SECRET_NAME


def test_secrets_written_by_the_command_are_read_by_workers(written, clock):
    command, workers = written
    command.put("api.key_1-a", " s3cr3t é")
    assert workers.get("acme", "api.key_1-a") == " s3cr3t é"
    command.put("api.key_1-a", "rotated")
    clock.advance(60)
    assert workers.get("acme", "api.key_1-a") == "rotated"
    with pytest.raises(SecretUnknownError):
        workers.get("other", "api.key_1-a")


def test_secrets_deletion_by_the_command_makes_a_secret_unknown_and_rewritable(written, clock):
    command, workers = written
    command.put("key", "old")
    command.delete("key")
    assert [each.name for each in command.all()] == []
    with pytest.raises(SecretUnknownError):
        workers.get("acme", "key")
    with pytest.raises(CliError, match="there is no secret other; list"):
        command.delete("other")
    command.put("key", "new")
    clock.advance(5)
    assert workers.get("acme", "key") == "new"


def test_secrets_command_lists_only_the_names_of_the_tenant(written):
    command, _ = written
    for number in range(12, 0, -1):
        command.put(f"key{number:02}", "value")
    for tenant in ("acme2", "other"):
        type(command)(command.client, STAGE, tenant).put("hidden", "value")
    type(command)(command.client, "test2", "acme").put("hidden", "value")
    found = list(command.all())
    assert sorted(each.name for each in found) == [f"key{number:02}" for number in range(1, 13)]
    assert all(each.changed_at.tzinfo for each in found)
    assert "value" not in str(found)
