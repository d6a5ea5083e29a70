"""Placeholders, and signatures of webhooks.


- Signatures of calls, made by the workers and checked by receivers.
"""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.template import (
    CALL_NAMES,
    CALLBACK_NAMES,
    IDEMPOTENCY_NAMES,
    TEMPLATE_NAMES,
    TemplateError,
    check_document,
    check_template,
    literal,
    render_template,
    secret_names,
)
from duecourse.domain.targets.webhook_signature import SigningKeyError, signature_headers, signing_keys, webhook_id
from duecourse.webhooks import WebhookError, verify


def test_templates_and_signatures_text_without_placeholders_is_unchanged():
    assert check_template("plain {text}") == ()
    assert render_template("plain {text}", {}) == "plain {text}"


def test_templates_and_signatures_placeholders_may_contain_spaces_and_may_be_repeated():
    assert render_template("{{job_id}}/{{ job_id }}/{{\tweek }}", {"job_id": "a", "week": "w"}) == "a/a/w"


def test_templates_and_signatures_unknown_name_is_reported_with_the_known_ones():
    (problem,) = check_template("{{weak}}")
    assert problem.startswith("{{weak}} is unknown; known names: job_id, run_id,")


def test_templates_and_signatures_each_problem_is_reported_once():
    assert len(check_template("{{weak}} {{weak}} {{day}}")) == 2


@pytest.mark.parametrize(
    ("text", "place"), [("{{week", 1), ("report-{week}}", 13), ("{{ {{week}}", 1), ("a}}b", 2), ("{{we{ek}}", 1)]
)
def test_templates_and_signatures_unmatched_braces_are_reported_with_their_position(text, place):
    assert any(f"at character {place} has no matching pair" in problem for problem in check_template(text))


def test_templates_and_signatures_empty_placeholder_is_reported():
    (problem,) = check_template("{{ }}")
    assert problem.startswith("{{}} is empty")


@pytest.mark.parametrize("text", ["{{job_id.__class__}}", "{{week|upper}}", "{{1+1}}", "{{job_id!r}}"])
def test_templates_and_signatures_expressions_in_placeholders_are_rejected(text):
    assert check_template(text)


def test_templates_and_signatures_idempotency_key_cannot_use_the_attempt():
    (problem,) = check_template("{{run_id}}-{{attempt}}", allowed=IDEMPOTENCY_NAMES)
    assert problem.startswith("{{attempt}} is not allowed here")


def test_templates_and_signatures_name_valid_elsewhere_is_reported_as_not_allowed_instead_of_unknown():
    (problem,) = check_template("{{callback_token}}", CALL_NAMES)
    assert problem.startswith("{{callback_token}} is not allowed here")
    assert check_template("{{callback_token}}{{idempotency_key}}", CALLBACK_NAMES) == ()


@pytest.mark.parametrize("value", ["{{week}}", "\\{{", "{{secret:key}}", "}}", "\\1 \\g<inside>"])
def test_templates_and_signatures_values_are_not_rendered_as_templates(value):
    assert render_template("{{job_id}}", {"job_id": value, "week": "w"}) == value
    assert render_template("{{secret:key}}", {"week": "w"}, {"key": value}) == value


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        (r"\{{week\}}", "{{week}}"),
        (r"\{{{{week}}\}}", "{{w}}"),
        (r'{"a": {"b": 1\}}', '{"a": {"b": 1}}'),
        (r"C:\temp", r"C:\temp"),
        (r"\{{", "{{"),
        (r"\\{{", r"\{{"),
    ],
)
def test_templates_and_signatures_backslash_makes_braces_literal(text, rendered):
    assert check_template(text, ("week",)) == ()
    assert render_template(text, {"week": "w"}) == rendered


def test_templates_and_signatures_literal_braces_without_a_backslash_are_rejected_with_a_remedy():
    (problem,) = check_template('{"a": {"b": 1}}')
    assert r"a literal }} as \}}" in problem


def test_templates_and_signatures_secrets_are_accepted_only_where_allowed():
    assert check_template("Bearer {{ secret:api.key-2 }}", secrets=True) == ()
    (problem,) = check_template("Bearer {{secret:api.key-2}}")
    assert problem.startswith("{{secret:api.key-2}} is not allowed here")


@pytest.mark.parametrize("name", ["", "../other", "a b", "x" * 65, "tenant/key", "é"])
def test_templates_and_signatures_secret_name_must_be_a_plain_word(name):
    (problem,) = check_template(f"{{{{secret:{name}}}}}", secrets=True)
    assert "is not a valid secret" in problem
    assert secret_names(f"{{{{secret:{name}}}}}") == ()


def test_templates_and_signatures_secret_names_are_listed_once_each_without_those_in_literal_text():
    assert secret_names(r"{{secret:b}} {{secret:a}} {{ secret:b }} {{week}} \{{secret:c\}} secret:d") == ("b", "a")


def test_templates_and_signatures_secret_is_inserted():
    assert render_template("Bearer {{secret:key}}/{{week}}", {"week": "w"}, {"key": "s3cr3t"}) == "Bearer s3cr3t/w"


def test_templates_and_signatures_missing_secret_is_reported_without_showing_the_others():
    with pytest.raises(TemplateError, match="there is no secret key") as raised:
        render_template("{{secret:other}} {{secret:key}}", {}, {"other": "s3cr3t"})
    assert "s3cr3t" not in str(raised.value)


def test_templates_and_signatures_invalid_strings_of_a_document_are_reported_with_their_paths_in_order():
    document = {"a": ["fine", "{{weak}}"], "{{b}}": {"c": "}} {{day}}"}, "d": "{{week}}"}
    found = list(check_document(document, TEMPLATE_NAMES))
    assert [path for path, _ in found] == [("a", 1), ("{{b}}", "c"), ("{{b}}", "c")]
    assert "{{weak}} is unknown" in found[0][1]
    assert next(check_document("{{day}}", TEMPLATE_NAMES))[0] == ()


def test_templates_and_signatures_document_cannot_use_secrets():
    ((path, problem),) = check_document({"key": "{{secret:key}}"}, CALLBACK_NAMES)
    assert path == ("key",)
    assert "header values" in problem


def test_templates_and_signatures_nesting_of_any_depth_is_checked():
    document: object = "{{weak}}"
    for _ in range(5_000):
        document = [document]
    ((path, _),) = check_document(document, TEMPLATE_NAMES)
    assert len(path) == 5_000


def test_templates_and_signatures_name_without_a_value_is_rejected():
    with pytest.raises(TemplateError, match="is not allowed here"):
        render_template("{{week}}", {})


BRACES = st.lists(st.sampled_from(["{", "}", "{{", "}}", "\\", "week", "secret:key", " ", "é"]), max_size=12).map(
    "".join
)


@given(
    st.recursive(BRACES | st.none() | st.integers(), lambda inside: st.lists(inside) | st.dictionaries(BRACES, inside))
)
def test_templates_and_signatures_literal_value_is_rendered_unchanged(value):
    assert render_document(literal(value), {}) == value


@given(st.text(alphabet="{} abweek_\\:scrt", max_size=40))
def test_templates_and_signatures_text_renders_if_and_only_if_its_check_finds_no_problem(text):
    values = dict.fromkeys(TEMPLATE_NAMES, "value")
    if check_template(text):
        with pytest.raises(TemplateError):
            render_template(text, values)
    else:
        assert "{{" not in render_template(text, values) or "\\{{" in text


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + b64encode(b"another key of 24 bytes!").decode()
ID, NOW, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The published example of Standard Webhooks."""


def signed(secret: str = SECRET, **changes: str) -> dict[str, str]:
    return signature_headers(ID, NOW, BODY, signing_keys(secret)) | changes


def test_templates_and_signatures_signature_matches_the_example_of_the_specification() -> None:
    wanted = {"webhook-id": ID, "webhook-timestamp": str(NOW), "webhook-signature": SIGNATURE}
    assert signed() == wanted
    assert verify(wanted, BODY, SECRET, now=NOW) == ID


@given(st.text(alphabet="ab.%2E5", max_size=12), st.text(alphabet="ab.%2E5", max_size=12))
def test_templates_and_signatures_webhook_id_has_no_full_stop_and_is_unique_per_key(one: str, other: str) -> None:
    assert "." not in webhook_id(one)
    assert (webhook_id(one) == webhook_id(other)) == (one == other)


@pytest.mark.parametrize(
    "secret",
    ["", " ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_*", f"{SECRET} plain",
     "whsec_" + b64encode(b"x" * 65).decode()],
)  # fmt: skip
def test_templates_and_signatures_invalid_signing_secret_is_rejected_without_being_shown(secret: str) -> None:
    with pytest.raises(SigningKeyError) as refused:
        signing_keys(secret)
    assert "MfKQ" not in str(refused.value)


@pytest.mark.parametrize("known", [SECRET, OTHER, f"{OTHER} {SECRET}"])
def test_templates_and_signatures_signature_is_valid_for_each_secret_during_a_rotation(known: str) -> None:
    headers = signed(f"{SECRET} {OTHER}")
    assert len(headers["webhook-signature"].split()) == 2
    assert verify(headers, BODY, known, now=NOW) == ID


def test_templates_and_signatures_header_names_ignore_case_and_other_signature_versions_are_skipped() -> None:
    headers = {name.title(): value for name, value in signed().items()}
    headers["Webhook-Signature"] = f"v1a,abc v2,def {SIGNATURE}"
    assert verify(headers, BODY, SECRET, now=NOW) == ID


@pytest.mark.parametrize(
    ("headers", "body", "now", "said"),
    [
        (signed(), BODY + b" ", NOW, "no signature matches; check the signing secret"),
        (signed(OTHER), BODY, NOW, "no signature matches; check the signing secret"),
        (signed(**{"webhook-id": "another"}), BODY, NOW, "no signature matches; check the signing secret"),
        (signed(**{"webhook-timestamp": str(NOW + 1)}), BODY, NOW, "no signature matches; check the signing secret"),
        (
            signed(**{"webhook-signature": SIGNATURE.replace("v1,", "v1a,")}),
            BODY,
            NOW,
            "no signature matches; check the signing secret",
        ),
        (signed(**{"webhook-signature": ""}), BODY, NOW, "no signature matches; check the signing secret"),
        (signed(**{"webhook-timestamp": "soon"}), BODY, NOW, "not a number"),
        (signed(**{"webhook-timestamp": "-5"}), BODY, NOW, "not a number"),
        (signed(), BODY, NOW + 301, "by more than 300 s"),
        (signed(), BODY, NOW - 301, "by more than 300 s"),
        ({"webhook-id": ID, "webhook-timestamp": str(NOW)}, BODY, NOW, "webhook-signature is missing"),
    ],
)
def test_templates_and_signatures_changed_old_or_unsigned_webhook_is_rejected(
    headers: Any, body: bytes, now: int, said: str
) -> None:
    with pytest.raises(WebhookError, match=said):
        verify(headers, body, SECRET, now=now)


def test_templates_and_signatures_clocks_may_differ_within_the_tolerance() -> None:
    assert verify(signed(), BODY, SECRET, now=NOW + 300) == verify(signed(), BODY, SECRET, now=NOW - 300) == ID


@pytest.mark.parametrize("secret", ["", "plain", "whsec_***"])
def test_templates_and_signatures_receiver_without_a_valid_secret_rejects_every_webhook(secret: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - binascii's own words
        verify(signed(), BODY, secret, now=NOW)
