"""Any call of an AWS API as a target, on moto."""

from functools import partial

import orjson
import pytest
from botocore.exceptions import UnknownServiceError

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.aws_call import AwsCaller, Roles
from duecourse.domain.targets.targets import AwsTarget, Returned
from tests.support.aws_targets import ARNS, TOKEN, a_waiting_call, refusal
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target
from tests.support.queues import create_queue, receive

ROLE = "duecourse-target-sender"


def a_target(service: str, action: str, parameters) -> AwsTarget:
    return AwsTarget(service, action, parameters, ROLE)


@pytest.fixture
def call(mocked, clock):
    caller = AwsCaller(clock, mocked.calling, Roles(clock, partial(mocked.calling, "sts"), ARNS))
    return lambda target, **fields: caller.call(a_call(target, **fields), target)


def test_aws_call_invokes_the_action_with_its_rendered_parameters(call, mocked):
    queue_url = create_queue(mocked.get("sqs").boto3)
    body = '{"run": "{{run_id}}", "key": "{{idempotency_key}}"}'
    outcome = call(a_target("sqs", "SendMessage", {"QueueUrl": queue_url, "MessageBody": body}))
    (message,) = receive(mocked.get("sqs").boto3, queue_url)
    assert orjson.loads(message["Body"]) == {"run": "nightly.20261121T064700Z", "key": "key-1"}
    assert isinstance(outcome, Returned)
    assert outcome.result["MessageId"] == message["MessageId"]
    assert "ResponseMetadata" not in outcome.result


def test_aws_call_reads_a_streaming_response(call, mocked):
    s3 = mocked.get("s3")
    s3.create_bucket(Bucket="reports", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    s3.put_object(Bucket="reports", Key="2026-11-21", Body=b"three rows")
    outcome = call(a_target("s3", "GetObject", {"Bucket": "reports", "Key": "{{date}}"}))
    assert isinstance(outcome, Returned)
    assert outcome.result["Body"] == "three rows"
    assert outcome.result["LastModified"].startswith("20")


def test_aws_call_is_made_with_the_role_in_the_name_of_the_job(call):
    outcome = call(a_target("sts", "GetCallerIdentity", {}))
    assert isinstance(outcome, Returned)
    assert outcome.result["Arn"] == f"arn:aws:sts::123456789012:assumed-role/{ROLE}/acme.nightly"


@pytest.mark.parametrize(
    ("service", "action", "parameters", "says"),
    [
        ("sqs", "MakeCoffee", {}, "no such action"),
        ("sqs", "send_message", {}, "no such action"),
        ("sqs", "__class__", {}, "no such action"),
        ("s3", "UploadFile", {}, "no such action"),
        ("s3", "SelectObjectContent", {}, "stream"),
        ("sqs", "SendMessage", {"QueueUrl": "u", "MessageBody": "b", "Shout": True}, "no parameter Shout"),
        ("sqs", "SendMessage", {"self": 1}, "no parameter self"),
        ("sqs", "SendMessage", {"QueueUrl": 1, "MessageBody": "b"}, "QueueUrl"),
        ("sqs", "SendMessage", {"QueueUrl": "u"}, "MessageBody"),
        ("sqs", "SendMessage", ["u"], "must be an object"),
    ],
)
def test_aws_call_rejects_unknown_actions_and_invalid_parameters_before_the_request(
    call, service, action, parameters, says
):
    outcome = call(a_target(service, action, parameters))
    assert (outcome.code, outcome.retryable) == ("ParamValidation", False)
    assert says in outcome.error


def test_aws_call_rejects_an_unknown_service(call):
    outcome = call(a_target("coffee", "Make", {}))
    assert (outcome.code, outcome.retryable) == ("service_unknown", False)


def test_aws_call_rejects_a_template_that_cannot_be_rendered(call):
    outcome = call(a_target("sqs", "SendMessage", {"MessageBody": "{{callback_token}}"}))
    assert (outcome.code, outcome.retryable) == ("bad_template", False)


def test_aws_call_classifies_service_errors_by_the_common_rules(call):
    outcome = call(a_target("ssm", "GetParameter", {"Name": "nothing"}))
    assert (outcome.code, outcome.retryable) == ("ParameterNotFound", False)


def test_aws_call_hides_a_token_of_the_parameters_in_the_result(mocked, clock):
    mocked.get("ssm").put_parameter(Name="/token", Value="none", Type="String")
    caller = AwsCaller(clock, mocked.calling, Roles(clock, partial(mocked.calling, "sts"), ARNS))
    put = a_target("ssm", "PutParameter", {"Name": "/token", "Value": "{{callback_token}}", "Overwrite": True})
    assert isinstance(caller.call(a_waiting_call(put), put), Returned)
    assert mocked.get("ssm").get_parameter(Name="/token")["Parameter"]["Value"] == TOKEN
    get = a_target("ssm", "GetParameter", {"Name": "/token"})
    outcome = caller.call(a_waiting_call(get), get)
    assert isinstance(outcome, Returned)
    assert outcome.result["Parameter"]["Value"] == "***"


class NoRoles:
    """Roles that nobody may assume, or whose credentials are stale."""

    def __init__(self, problem=None):
        self.problem = problem
        self.forgotten = []

    def assume(self, role, call, deadline):
        if self.problem is not None:
            raise self.problem

    def forget(self, role, call):
        self.forgotten.append(role)


def test_aws_call_forbidden_role_is_not_retryable(mocked, clock):
    target = a_target("sqs", "ListQueues", {})
    caller = AwsCaller(clock, mocked.calling, NoRoles(refusal("AccessDenied", 403)))  # type: ignore[arg-type]
    outcome = caller.call(a_call(target), target)
    assert (outcome.code, outcome.retryable) == ("AccessDenied", False)


@pytest.mark.parametrize(
    ("code", "stale"),
    [
        ("ExpiredToken", True),
        ("ExpiredTokenException", True),
        ("InvalidAccessKeyId", True),
        ("InvalidClientTokenId", True),
        ("UnrecognizedClientException", True),
        ("Nope", False),
    ],
)
def test_aws_call_discards_rejected_credentials_and_next_attempt_requests_new_ones(session, clock, code, stale):
    body = orjson.dumps({"__type": code, "message": "because"})
    with http_target(answering(400, body)) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        roles, target = NoRoles(), a_target("sqs", "ListQueues", {})
        outcome = AwsCaller(clock, clients.calling, roles).call(a_call(target), target)  # type: ignore[arg-type]
    assert (outcome.code, outcome.retryable) == (code, stale)
    assert roles.forgotten == ([ROLE] if stale else [])
    assert len(endpoint.seen) == 1, "botocore must not try again by itself"


def test_aws_call_rejects_unknown_service_without_reading_a_model(session):
    with pytest.raises(UnknownServiceError):
        AwsClients(session).calling("coffee", 5)
