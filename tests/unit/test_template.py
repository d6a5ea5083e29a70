import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.template import (
    IDEMPOTENCY_NAMES,
    TEMPLATE_NAMES,
    TemplateError,
    check_template,
    idempotency_key,
    render_template,
    values_for,
)
from tests.support.calls import a_job, a_run


def test_a_text_without_placeholders_stays_as_it_is():
    assert check_template("plain {text}") == ()
    assert render_template("plain {text}", {}) == "plain {text}"


def test_placeholders_may_have_spaces_inside_and_may_repeat():
    assert render_template("{{job_id}}/{{ job_id }}/{{\tweek }}", {"job_id": "a", "week": "w"}) == "a/a/w"


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
def test_every_known_name_is_allowed_and_has_a_value(name):
    assert check_template(f"{{{{{name}}}}}") == ()
    assert values_for(a_run(), a_job())[name]


def test_every_value_has_a_name():
    assert set(values_for(a_run(), a_job())) == set(TEMPLATE_NAMES)


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
def test_there_are_no_expressions(text):
    assert check_template(text)


def test_an_idempotency_key_may_not_name_the_attempt():
    (problem,) = check_template("{{run_id}}-{{attempt}}", allowed=IDEMPOTENCY_NAMES)
    assert problem.startswith("{{attempt}} may not be used here")


def test_values_are_never_read_as_templates():
    assert render_template("{{job_id}}", {"job_id": "{{week}}", "week": "w"}) == "{{week}}"


def test_a_name_without_a_value_is_refused():
    with pytest.raises(TemplateError, match="may not be used here"):
        render_template("{{week}}", {})


def test_instants_are_utc_and_calendar_dates_are_the_zones():
    run = a_run(occurrence="20270103T233000Z")  # a Sunday evening in UTC, Monday in Tokyo
    values = values_for(run, a_job(timezone="Asia/Tokyo"))
    assert values["scheduled_at"] == "2027-01-03T23:30:00Z"
    assert values["occurrence"] == "20270103T233000Z"
    assert values["run_id"] == "nightly.20270103T233000Z"
    assert (values["date"], values["week"], values["month"]) == ("2027-01-04", "2027-W01", "2027-01")
    assert values_for(run, a_job())["date"] == "2027-01-03"


def test_the_week_carries_its_own_year():
    values = values_for(a_run(occurrence="20270103T120000Z"), a_job())
    assert (values["week"], values["month"]) == ("2026-W53", "2027-01")


def test_the_idempotency_key_is_the_run_id_unless_the_job_has_a_template():
    assert idempotency_key(a_run(), a_job()) == "nightly.20261121T064700Z"
    assert idempotency_key(a_run(), a_job(idempotency_key="report-{{week}}")) == "report-2026-W47"


def test_the_idempotency_key_is_the_same_on_every_attempt():
    job = a_job(idempotency_key="{{tenant}}-{{run_id}}")
    assert idempotency_key(a_run(attempt=1), job) == idempotency_key(a_run(attempt=3), job)


@given(st.text(alphabet="{} abweek_", max_size=40))
def test_what_is_checked_renders_and_what_is_not_does_not(text):
    values = dict.fromkeys(TEMPLATE_NAMES, "value")
    if check_template(text):
        with pytest.raises(TemplateError):
            render_template(text, values)
    else:
        assert "{{" not in render_template(text, values)
