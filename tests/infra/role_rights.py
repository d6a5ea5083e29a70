"""The permissions of roles according to the template, and the permissions that the source needs, both by store."""

import re
from collections.abc import Mapping
from typing import Any

from duecourse.limits import OPERATIONS_LANE
from infra.stages import STAGES
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.support.needed_calls import needed
from tests.support.policies import actions_of, as_list, written
from tests.support.template import source_of

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"}
FOLLOW = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}
TRACES = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
"""Permissions with which Lambda itself acts for a function: logs, queues, streams, and traces (which have no
resources).
"""

WITHOUT_RESOURCES = {"cloudwatch:GetMetricData": "metrics", "lambda:GetAccountSettings": "account"}
"""Actions for which AWS has no resources, and the names that this module gives them."""

KEYS_OF_STORES = {"kms:Decrypt", "kms:GenerateDataKey"}
"""Permissions with which stores use a stage's key for their callers."""

TARGET = "duecourse-target-*"

STORES = {
    "AwsExecutions": "targets",
    "CloudWatchAlarms": "alarms",
    "CloudWatchMetrics": "metrics",
    "DynamoRunChanges": "runs, stream",
    "EventBridgeBus": "bus",
    "S3Archive": "archive",
    "S3Logs": "run logs",
    "S3Results": "results",
    "SecretsManagerSecrets": "secrets",
    "SnsNotifier": "deaths",
    "SqsDeadLetterQueue": "dead letters",
    "SqsDepths": "lanes",
    "SqsLanes": "lanes",
    "jobs": "jobs",
    "runs": "runs",
    "KmsPublicKeys": "token keys",
    "KmsTokens": "token keys",
    "LambdaAccount": "account",
    "LambdaEventSource": "archive source",
    "SqsQueueDepths": "lanes and callbacks and shards and archive failures",
    "SqsReceived": "own queue",
    "SqsShardQueue": "shards",
    "SsmSecrets": "secrets",
    "SsmTasks": "tasks",
    "Targets": "targets",
}
"""The stores of each adapter's requests. If an adapter is missing here, the tests of the functions that use it fail."""

NOT_GRANTED = {
    ("Execute", "jobs", "dynamodb:DeleteItem"): "pausing a job that fails changes neither its tags nor its payload",
    ("Reconcile", "jobs", "dynamodb:DeleteItem"): "pausing a job that fails changes neither its tags nor its payload",
    ("Execute", "jobs", "dynamodb:Query"): "pausing a job that fails takes no place of the quota",
    ("Reconcile", "jobs", "dynamodb:Query"): "pausing a job that fails takes no place of the quota",
    ("Repair", "jobs", "dynamodb:ConditionCheckItem"): "what follows a calendar is no new job",
    ("Repair", "jobs", "dynamodb:Query"): "what follows a calendar is on the page, and takes no place of the quota",
    ("Dispatch", "jobs", "dynamodb:DeleteItem"): "ending a pause changes neither the job's tags nor its payload",
    ("Api", "runs", "dynamodb:DeleteItem"): "the API starts waiting runs, but no run leaves a wait queue there",
    ("Api", "runs", "dynamodb:Scan"): "the stages of these tests have no operator tenant (test_permissions.py has one)",
    ("Api", "run logs", "s3:PutObject"): "the function of the callbacks serves the route that appends to a log",
    ("Reconcile", "results", "s3:PutObject"): "what the reconciler ends has no result",
}
"""Operations that the source contains but never uses."""

CARRIES_OPERATIONS = f"Execute{OPERATIONS_LANE.capitalize()}"
OF_OPERATIONS: Mapping[str, frozenset[str]] = {
    "jobs": frozenset({"dynamodb:Query"}),
    "runs": frozenset({"dynamodb:BatchWriteItem"}),
}
"""What only the workers that carry out operations may do, by store. The code of the others is the same."""

FUNCTIONS = (
    *("Api", "Archive", "Audit", "Callbacks", "Claims", "Connector", "Console"),
    *("Dispatch", "Execute", "Repair", "Reconcile", "Tick"),
)
"""The outputs without their suffixes; the outputs of the lanes' workers begin with Execute."""

ON_THE_CLOCK = frozenset({"Tick", "Dispatch", "Reconcile", "Repair", "Audit"})
"""Functions that a rule starts even without work. They are traced only if the stage is configured to do so."""

CLAIMS = "Claims"
"""Cognito's trigger, which exists only if the stack creates a user pool. It makes no requests."""

CONNECTOR = "Connector"
"""The function of a connector, in stages that have one. Workers invoke it like a target."""

Rights = dict[str, set[str]]


def kind_of(name: str) -> str:
    """Return `Execute` for `ExecuteHigh`."""
    return next(kind for kind in FUNCTIONS if name.startswith(kind))


def role_of(function: dict[str, Any]) -> str:
    return str(function["Role"]["Fn::GetAtt"][0])


def stores(stack: Stack) -> dict[str, str]:
    """Return the names of the resources in outputs."""
    lanes = [stack.output(output) for output in LANE_OUTPUTS]
    words = {
        "JobsTable": "jobs",
        "RunsTable": "runs",
        "ShardQueueUrl": "shards",
        "DeadLetterQueueUrl": "dead letters",
        "LaneCallbacksUrl": "callbacks",
        "DeathsTopicArn": "deaths",
        "BusName": "bus",
        "ResultsBucket": "results",
        "ArchiveBucket": "archive",
        "ArchiveFailuresQueueUrl": "archive failures",
    }
    if "EventFailuresQueueUrl" in stack.template["Outputs"]:
        words["EventFailuresQueueUrl"] = "event failures"
    return {**dict.fromkeys(lanes, "lanes"), **{stack.output(name): word for name, word in words.items()}}


def word_for(stack: Stack, resource: Any, function: dict[str, Any]) -> str:
    """Return the name of a policy's resource in this module."""
    text = written(resource)
    if text == "*":
        return text
    if found := re.fullmatch(r"\{(\w+)(?:\.(\w+))?\}(/index/\w+|/results/\*|/logs/\*|/stream/\*|/\*)?", text):
        name, attribute, part = found.groups()
        if name == function["LoggingConfig"]["LogGroup"]["Ref"]:
            return "logs"
        variables = function["Environment"]["Variables"]
        if {"Ref": name} in (variables.get("DUECOURSE_QUEUE_URL"), variables.get("DUECOURSE_BULK_URL")):
            return "own queue"
        if name in stack.resources("AWS::KMS::Key"):
            return "token keys"
        if name == stack.output("AuditFunction"):
            return "audit"
        if name in stack.resources("AWS::Lambda::Function"):
            assert "via" in stack.resources("AWS::Lambda::Function")[name]["FunctionName"]
            return "connectors"
        if name == stack.output("ResultsBucket") and part != "/results/*":  # the bucket itself is listed for logs only
            return "run logs"
        return stores(stack)[name] + (", stream" if attribute == "StreamArn" or part == "/stream/*" else "")
    arn, partition, service, region, account, name = text.split(":", 5)
    assert (arn, partition, account) == ("arn", "{Partition}", "" if service == "s3" else "{AccountId}")
    if service == "s3":
        assert any(name.startswith(f"{bucket}/") for bucket in STAGES[stack.stage].result_buckets)
        return "results"
    assert region == ("" if service == "iam" else "{Region}")
    if f"{service}:{name}" == "cloudwatch:alarm:*":
        return "alarms"
    if service == "lambda" and name.startswith("event-source-mapping:"):
        return "archive source"
    for kind in ("tasks", "secrets"):
        if f"{service}:{name}" == f"ssm:parameter/duecourse/{stack.stage}/{kind}/*":
            return kind
    assert TARGET in name, f"{text} is nothing that a function of Duecourse should touch"
    return "targets"


def granted(stack: Stack, name: str) -> Rights:
    """Return the permissions of a function's role by store, without those for keys."""
    function, rights = stack.functions()[name], Rights()
    for statement in stack.statements(role_of(function)):
        assert statement["Effect"] == "Allow"
        actions = {action for action in as_list(statement["Action"]) if action not in KEYS_OF_STORES}
        for resource in as_list(statement["Resource"]) if actions else ():
            word = word_for(stack, resource, function)
            for action in actions:
                rights.setdefault(WITHOUT_RESOURCES.get(action, word), set()).add(action)
    return rights


def asked_for(stack: Stack, name: str) -> Rights:
    """Return the permissions that the code of a function can need, by store."""
    config, rights = STAGES[stack.stage], Rights()
    for call in needed(source_of(kind_of(name))):
        if call.adapter == ("SecretsManagerSecrets" if config.secret_store == "parameters" else "SsmSecrets"):
            continue
        if call.adapter in ("KmsPublicKeys", "KmsTokens") and not config.oidc_keys:
            continue
        if call.adapter in ("DynamoThroughput", "LambdaPollers") and config.prescale is None:
            continue
        if call.method == "assume_role" and not config.allowed_targets.actions:
            continue
        for store in STORES[call.adapter].split(" and "):
            rights.setdefault(store, set()).update(actions_of(call))
    if name == "Callbacks":  # its only queue
        rights["callbacks"] = rights.pop("lanes")
    elif kind_of(name) == "Execute":  # a worker also sends to its own lane
        rights["own queue"] |= rights["lanes"]
    else:  # the only queue from which it receives messages
        rights.setdefault("dead letters", set()).update(rights.pop("own queue", set()))
    return {store: actions for store, actions in rights.items() if actions}


def used_by_lambda(stack: Stack, name: str) -> Rights:
    """Return the permissions with which Lambda acts for the function, according to the template."""
    rights = Rights(logs=set(LOGS))
    if STAGES[stack.stage].tracing and kind_of(name) not in ON_THE_CLOCK:
        rights["*"] = set(TRACES)
    for mapping in stack.resources("AWS::Lambda::EventSourceMapping").values():
        if stack.consumer(mapping) == stack.output(f"{name}Function"):
            word = word_for(stack, mapping["EventSourceArn"], stack.functions()[name])
            rights[word] = set(FOLLOW if word.endswith("stream") else CONSUME)
            if given_up := mapping.get("DestinationConfig", {}).get("OnFailure"):
                rights[word_for(stack, given_up["Destination"], stack.functions()[name])] = {"sqs:SendMessage"}
    return rights


def expected(stack: Stack, name: str) -> Rights:
    rights = used_by_lambda(stack, name)
    if kind_of(name) == "Execute" and STAGES[stack.stage].connectors:
        rights["connectors"] = {"lambda:InvokeFunction"}
    if kind_of(name) == "Execute":  # for reports
        rights["audit"] = {"lambda:InvokeFunction"}
    for store, actions in asked_for(stack, name).items():
        wanted = {action for action in actions if (kind_of(name), store, action) not in NOT_GRANTED}
        if kind_of(name) == "Execute":
            own = OF_OPERATIONS.get(store, frozenset())
            assert own <= actions
            wanted = wanted | own if name == CARRIES_OPERATIONS else wanted - own
        if wanted:
            rights.setdefault(store, set()).update(wanted)
    return rights


def table(stack: Stack) -> str:
    """Return the permissions of all functions as docs/security.md shows them: without logs and traces, which are the
    same for all. Only the workers of one lane receive callbacks, and only those of another one carry out operations.
    """
    rows = ["| function | resources | actions |", "|---|---|---|"]
    seen: dict[str, Rights] = {}
    for name in sorted(stack.functions()):
        own = granted(stack, name)
        received = own.pop("callbacks", None) if kind_of(name) == "Execute" else None
        if name == CARRIES_OPERATIONS:
            own |= {store: own[store] - actions for store, actions in OF_OPERATIONS.items()}
        known = seen.setdefault(kind_of(name), own)
        same = {
            store: actions for store, actions in known.items() if (kind_of(name), store) != ("Execute", "callbacks")
        }
        assert same == own, "the lanes' workers may do the same"
        known |= {} if received is None else {"callbacks": received}
    for kind, rights in seen.items():
        own = sorted((store, actions) for store, actions in rights.items() if store not in ("*", "logs"))
        if kind == "Execute":
            own += [(f"{store} (lane {OPERATIONS_LANE})", {*actions}) for store, actions in OF_OPERATIONS.items()]
        for number, (store, actions) in enumerate(own or [("nothing", {"nothing"})]):
            rows.append(f"| {'' if number else kind.lower()} | {store} | {', '.join(sorted(actions))} |")
    return "\n".join(rows)
