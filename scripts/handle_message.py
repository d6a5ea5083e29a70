"""`python -m scripts.handle_message OUTPUT FOLDER BODY`: handle a message in this process, to step through its handler.

OUTPUT is the output of the local stack that contains the function (DispatchFunction), FOLDER its folder in functions/,
and BODY the text of the message. AWS_ENDPOINT_URL and AWS_DEFAULT_REGION are those of the local stack.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import boto3

STACK = "Duecourse-local"
FUNCTIONS = Path(__file__).resolve().parents[1] / "functions"


def handle(output: str, folder: str, body: str) -> Any:
    """Call the handler of a function with one message, in the environment that the stack gives the function.

    Returns what the handler returns, and raises what it raises.
    """
    stack = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
    name = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}[output]
    function = boto3.client("lambda").get_function_configuration(FunctionName=name)
    os.environ.update(function["Environment"]["Variables"])
    handler = run_path(str(FUNCTIONS / folder / "handler.py"))["handler"]
    record = {
        "messageId": "debug",
        "receiptHandle": "debug",
        "body": body,
        "eventSourceARN": "arn:aws:sqs:::debug",
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    context = SimpleNamespace(
        aws_request_id="debug",
        get_remaining_time_in_millis=lambda: 60_000,
        function_name=name,
        memory_limit_in_mb=512,
        invoked_function_arn=function["FunctionArn"],
    )
    return handler({"Records": [record]}, context)


if __name__ == "__main__":
    sys.stdout.write(f"{handle(*sys.argv[1:])}\n")
