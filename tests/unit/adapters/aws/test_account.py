"""The quota of concurrent executions that Lambda reports for the account."""

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from duecourse.adapters.aws.account import LambdaAccount


def stubbed() -> tuple[LambdaAccount, Stubber]:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = botocore.session.Session().create_client("lambda", region_name="eu-central-1", **keys)
    return LambdaAccount(client), Stubber(client)


def test_account_quota_is_that_of_the_whole_account_and_not_its_unreserved_part() -> None:
    account, stub = stubbed()
    limit = {"ConcurrentExecutions": 400, "UnreservedConcurrentExecutions": 307}
    stub.add_response("get_account_settings", {"AccountLimit": limit}, {})
    with stub:
        assert account.executions() == 400
    stub.assert_no_pending_responses()


def test_account_quota_without_permission_raises_the_error() -> None:
    account, stub = stubbed()
    stub.add_client_error("get_account_settings", "AccessDeniedException")
    with stub, pytest.raises(ClientError):
        account.executions()


def test_account_quota_missing_from_the_response_is_an_error_and_not_zero() -> None:
    account, stub = stubbed()
    stub.add_response("get_account_settings", {}, {})
    with stub, pytest.raises(KeyError):
        account.executions()
