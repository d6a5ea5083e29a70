"""Something of every kind that jobs may call, made by an administrator of the emulator before the stack's roles act."""

import io
import json
import zipfile
from typing import Any

from tests.support.emulators import client

NAME = "duecourse-target-all"
LARGE = 5_000
HANDLER = f"""\
def handler(event, context):
    if event["payload"] == "fail":
        raise ValueError("no paper")
    return {{'text': 'x' * {LARGE}}}
"""
MACHINE = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}
ACCOUNT = "000000000000"
SECRET = "/duecourse/local/secrets/default/greeting"
TASK = "/duecourse/local/tasks/greet"


class Receivers:
    """A function that answers at length, a queue, a topic, a bus, a state machine, a role, a task and a secret."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.queue_url = self._client("sqs").create_queue(QueueName=NAME)["QueueUrl"]
        self._client("sns").create_topic(Name=NAME)
        self._client("events").create_event_bus(Name=NAME)
        self._role()
        self._function()
        role = f"arn:aws:iam::{ACCOUNT}:role/{NAME}"
        self._client("stepfunctions").create_state_machine(name=NAME, definition=json.dumps(MACHINE), roleArn=role)
        parameters = self._client("ssm")
        parameters.put_parameter(Name=SECRET, Type="SecureString", Value="good morning")
        task = {"target": {"type": "sns", "topic": NAME}, "defaults": {"timeout_seconds": 20}}
        parameters.put_parameter(Name=TASK, Type="String", Value=json.dumps(task))

    @property
    def targets(self) -> dict[str, dict[str, Any]]:
        """A target of each kind that this emulator can be called with, as posted."""
        sent = {"QueueUrl": self.queue_url, "MessageBody": "{{run_id}}"}
        return {
            "lambda": {"type": "lambda", "function": NAME},
            "sqs": {"type": "sqs", "queue": NAME},
            "sns": {"type": "sns", "topic": NAME},
            "eventbridge": {"type": "eventbridge", "bus": NAME},
            "stepfunctions": {"type": "stepfunctions", "machine": NAME},
            "aws": {"type": "aws", "service": "sqs", "action": "SendMessage", "parameters": sent, "role": NAME},
            "task": {"type": "task", "name": "greet"},
        }

    def messages(self) -> list[str]:
        """What came to the queue since the last look."""
        answer = self._client("sqs").receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10)
        return [message["Body"] for message in answer.get("Messages", [])]

    def _client(self, service: str) -> Any:
        return client(service, self._endpoint)

    def _role(self) -> None:
        """Who works for the stage may act as this role, and it may write to the queue."""
        anyone = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
        lambdas = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        send = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": f"arn:aws:sqs:us-east-1:{ACCOUNT}:{NAME}"}
        iam = self._client("iam")
        iam.create_role(RoleName=NAME, AssumeRolePolicyDocument=_policy(anyone, lambdas))
        iam.put_role_policy(RoleName=NAME, PolicyName="send", PolicyDocument=_policy(send))

    def _function(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("index.py", HANDLER)
        self._client("lambda").create_function(
            FunctionName=NAME,
            Runtime="python3.12",
            Role=f"arn:aws:iam::{ACCOUNT}:role/{NAME}",
            Handler="index.handler",
            Code={"ZipFile": buffer.getvalue()},
        )


def _policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
