"""Events in the format of API Gateway's HTTP APIs (payload format 2.0).

The fields follow AWS's example document. Absent parts (no query, no body) are omitted, as by AWS.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

REQUEST_ID = "JKJaXmPLvHcESHA="


def api_event(
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    body: str | None = None,
    content_type: str | None = "application/json",
    is_base64: bool = False,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a request to the stage `$default` of an HTTP API whose only route is `ANY /v1/{proxy+}`."""
    sent = {
        "accept": "*/*",
        "content-length": str(len((body or "").encode("utf-8", "surrogatepass"))),
        "host": "r3pmxmplak.execute-api.us-east-2.amazonaws.com",
        "user-agent": "curl/8.5.0",
        "x-amzn-trace-id": "Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e",
        "x-forwarded-for": "205.255.255.176",
        "x-forwarded-port": "443",
        "x-forwarded-proto": "https",
        **(headers or {}),
    }
    if content_type is not None:
        sent["content-type"] = content_type
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /v1/{proxy+}",
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": sent,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "r3pmxmplak",
            "domainName": "r3pmxmplak.execute-api.us-east-2.amazonaws.com",
            "domainPrefix": "r3pmxmplak",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "205.255.255.176",
                "userAgent": "curl/8.5.0",
            },
            "requestId": REQUEST_ID,
            "routeKey": "ANY /v1/{proxy+}",
            "stage": "$default",
            "time": "10/Mar/2020:05:16:23 +0000",
            "timeEpoch": 1583817383220,
        },
        "pathParameters": {"proxy": path.removeprefix("/v1/")},
        "isBase64Encoded": is_base64,
    }
    if query:
        event["queryStringParameters"] = dict(query)
    if body is not None:
        event["body"] = body
    return event


def json_event(method: str, path: str, value: Any, **changes: Any) -> dict[str, Any]:
    """Return a request with a JSON body."""
    return api_event(method, path, body=json.dumps(value), **changes)


def jwt_caller(tenant: str | None, *scopes: str, subject: str = "ann", **claims: str) -> dict[str, Any]:
    """Return the `requestContext.authorizer` of a JWT authorizer, in which every claim is text."""
    said = {
        "iss": "https://issuer.example",
        "aud": "duecourse",
        "sub": subject,
        "exp": "1583821383",
        "scope": " ".join(scopes),
        **claims,
    }
    return {"jwt": {"claims": said if tenant is None else {**said, "tenant": tenant}, "scopes": None}}


def iam_caller(arn: str) -> dict[str, Any]:
    """Return the `requestContext.authorizer` of the IAM authorizer."""
    iam = {
        "accessKey": "ASIAEXAMPLE",
        "accountId": "123456789012",
        "callerId": "AROAEXAMPLE:ann",
        "cognitoIdentity": None,
        "principalOrgId": "o-example",
        "userArn": arn,
        "userId": "AROAEXAMPLE:ann",
    }
    return {"iam": iam}
