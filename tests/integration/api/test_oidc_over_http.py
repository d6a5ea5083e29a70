"""The documents with which receivers verify the stage's tokens."""

from dataclasses import replace

from tests.support.api import ApiClient
from tests.support.tables import Tables

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/.well-known/jwks.json"


def test_oidc_documents_need_no_token_and_can_be_cached(api: ApiClient) -> None:
    discovered, keys = api.get(DISCOVERY), api.get(KEYS)
    assert (discovered.status, keys.status) == (200, 200)
    assert discovered.json["issuer"] == "https://jobs.example"
    assert discovered.json["jwks_uri"] == f"https://jobs.example{KEYS}"
    assert [(key["kid"], key["alg"], key["e"]) for key in keys.json["keys"]] == [
        ("key-1", "RS256", "AQAB"),
        ("key-2", "RS256", "AQAB"),
    ]
    for answer in (discovered, keys):
        assert answer.headers["cache-control"] == "public, max-age=3600"


def test_oidc_documents_do_not_exist_on_a_stage_without_keys(api: ApiClient, tables: Tables) -> None:
    without = ApiClient.over(tables, settings=replace(api.settings, oidc=None))
    for path in (DISCOVERY, KEYS):
        answer = without.get(path)
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-path")
        assert "ask the operator to set oidc_keys" in answer.json["detail"]
