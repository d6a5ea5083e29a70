import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.targets.template import (
    CALL_NAMES,
    CALLBACK_NAMES,
    IDEMPOTENCY_NAMES,
    TEMPLATE_NAMES,
    TemplateError,
    check_document,
    check_template,
    render_template,
    secret_names,
)


def test_a_text_without_placeholders_stays_as_it_is():
    assert check_template("plain {text}") == ()
    assert render_template("plain {text}", {}) == "plain {text}"


def test_placeholders_may_have_spaces_inside_and_may_repeat():
    assert render_template("{{job_id}}/{{ job_id }}/{{\tweek }}", {"job_id": "a", "week": "w"}) == "a/a/w"


def test_an_unknown_name_is_reported_with_the_known_ones():
    (problem,) = check_template("{{weak}}")
    assert problem.startswith("{{weak}} is unknown; known names: job_id, run_id,")


def test_each_problem_is_reported_once():
    assert len(check_template("{{weak}} {{weak}} {{day}}")) == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [("{{week", 1), ("report-{week}}", 13), ("{{ {{week}}", 1), ("a}}b", 2), ("{{we{ek}}", 1)],
)
def test_braces_without_a_partner_are_reported_with_their_place(text, place):
    assert any(f"at character {place} has no partner" in problem for problem in check_template(text))


def test_an_empty_placeholder_is_reported():
    (problem,) = check_template("{{ }}")
    assert problem.startswith("{{}} is empty")


@pytest.mark.parametrize("text", ["{{job_id.__class__}}", "{{week|upper}}", "{{1+1}}", "{{job_id!r}}"])
def test_templates_have_no_expressions(text):
    assert check_template(text)


def test_an_idempotency_key_may_not_name_the_attempt():
    (problem,) = check_template("{{run_id}}-{{attempt}}", allowed=IDEMPOTENCY_NAMES)
    assert problem.startswith("{{attempt}} may not be used here")


def test_a_name_that_is_known_elsewhere_is_not_called_unknown():
    (problem,) = check_template("{{callback_token}}", CALL_NAMES)
    assert problem.startswith("{{callback_token}} may not be used here")
    assert check_template("{{callback_token}}{{idempotency_key}}", CALLBACK_NAMES) == ()


@pytest.mark.parametrize("value", ["{{week}}", "\\{{", "{{secret:key}}", "}}", "\\1 \\g<inside>"])
def test_values_are_never_read_as_templates(value):
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
def test_a_backslash_makes_braces_literal(text, rendered):
    assert check_template(text, ("week",)) == ()
    assert render_template(text, {"week": "w"}) == rendered


def test_a_template_without_the_backslash_is_refused_with_the_remedy():
    (problem,) = check_template('{"a": {"b": 1}}')
    assert r"a literal }} is written \}}" in problem


def test_secrets_are_named_where_they_are_allowed_and_nowhere_else():
    assert check_template("Bearer {{ secret:api.key-2 }}", secrets=True) == ()
    (problem,) = check_template("Bearer {{secret:api.key-2}}")
    assert problem.startswith("{{secret:api.key-2}} may not be used here")


@pytest.mark.parametrize("name", ["", "../other", "a b", "x" * 65, "tenant/key", "é"])
def test_a_secrets_name_is_a_plain_word(name):
    (problem,) = check_template(f"{{{{secret:{name}}}}}", secrets=True)
    assert "names no secret" in problem
    assert secret_names(f"{{{{secret:{name}}}}}") == ()


def test_the_secrets_of_a_template_are_found_once_each_and_not_in_literal_text():
    assert secret_names(r"{{secret:b}} {{secret:a}} {{ secret:b }} {{week}} \{{secret:c\}} secret:d") == ("b", "a")


def test_a_secret_is_put_in():
    assert render_template("Bearer {{secret:key}}/{{week}}", {"week": "w"}, {"key": "s3cr3t"}) == "Bearer s3cr3t/w"


def test_a_secret_that_is_missing_is_named_and_the_others_are_not_shown():
    with pytest.raises(TemplateError, match="there is no secret key") as raised:
        render_template("{{secret:other}} {{secret:key}}", {}, {"other": "s3cr3t"})
    assert "s3cr3t" not in str(raised.value)


def test_a_bad_string_is_found_with_its_path_in_the_order_of_the_document():
    document = {"a": ["fine", "{{weak}}"], "{{b}}": {"c": "}} {{day}}"}, "d": "{{week}}"}
    found = list(check_document(document, TEMPLATE_NAMES))
    assert [path for path, _ in found] == [("a", 1), ("{{b}}", "c"), ("{{b}}", "c")]
    assert "{{weak}} is unknown" in found[0][1]
    assert next(check_document("{{day}}", TEMPLATE_NAMES))[0] == ()


def test_a_document_may_not_name_secrets():
    ((path, problem),) = check_document({"key": "{{secret:key}}"}, CALLBACK_NAMES)
    assert path == ("key",)
    assert "header values" in problem


def test_nesting_of_any_depth_is_checked():
    document: object = "{{weak}}"
    for _ in range(5_000):
        document = [document]
    ((path, _),) = check_document(document, TEMPLATE_NAMES)
    assert len(path) == 5_000


def test_a_name_without_a_value_is_refused():
    with pytest.raises(TemplateError, match="may not be used here"):
        render_template("{{week}}", {})


@given(st.text(alphabet="{} abweek_\\:scrt", max_size=40))
def test_what_is_checked_renders_and_what_is_not_does_not(text):
    values = dict.fromkeys(TEMPLATE_NAMES, "value")
    if check_template(text):
        with pytest.raises(TemplateError):
            render_template(text, values)
    else:
        assert "{{" not in render_template(text, values) or "\\{{" in text
