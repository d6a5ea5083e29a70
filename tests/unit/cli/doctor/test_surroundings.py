"""The doctor's verdicts about queues, alarms, functions, tables, quotas and the audit."""

import pytest

from duecourse.checks import verdicts as shared
from duecourse.checks.check import CheckStatus
from duecourse.checks.facts import Alarm, Alarms, Queue
from duecourse.cli.doctor import surroundings, topics
from duecourse.cli.doctor.facts import AuditState, Found, Function, Quotas, RepairState, Subscribers, Table

DAY, OLD = 86_400.0, 1e7
OK, WARNING, BAD = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.BAD


@pytest.mark.parametrize(
    ("queue", "verdict"),
    [
        (Queue("high", 0, 500, 3, 890), OK),
        (Queue("high", 4, 500, 3, 1_100), OK),
        (Queue("high", 4, 500, 3, 1_300), WARNING),
        (Queue("high", 4, 500, 3, 2_500), BAD),
        (Queue("low", 4, 500, 3, 2_500), OK),
        (Queue("high", 5_000, 0, 3), WARNING),
        (Queue("high", 0, 0, 110_000), BAD),
    ],
)
def test_doctor_judges_a_lane_by_waiting_messages_beyond_their_delay(queue: Queue, verdict: CheckStatus) -> None:
    assert shared.lane(queue).verdict is verdict


@pytest.mark.parametrize(
    ("queue", "verdict"),
    [(Queue("s", 16, 0, 4, 40), OK), (Queue("s", 40, 0, 4), WARNING), (Queue("s", 3, 0, 4, 200), BAD)],
)
def test_doctor_judges_the_shard_queue_by_waiting_rounds(queue: Queue, verdict: CheckStatus) -> None:
    assert surroundings.shard_queue(queue, 16).verdict is verdict


def test_doctor_reports_dead_letters_as_a_warning_even_while_the_reconciler_processes_them() -> None:
    assert surroundings.dead_letters(Queue("dlq", 0, 0, 0)).verdict is OK
    assert surroundings.dead_letters(Queue("dlq", 1, 0, 0)).verdict is WARNING
    assert surroundings.dead_letters(Queue("dlq", 0, 0, 1)).verdict is WARNING


def test_doctor_reports_an_active_alarm_with_its_description_and_runbook_section() -> None:
    ringing = [Alarm("ticks-missing", "No tick for three minutes", "docs/runbooks.md#ticks-missing")]
    check = shared.alarms(Alarms(ringing, 40))
    assert (check.verdict, check.runbook) == (BAD, "docs/runbooks.md#ticks-missing")
    assert "1 of 40 alarms are active: ticks-missing: No tick for three minutes" in check.says
    assert shared.alarms(Alarms([], 40)).verdict is OK


def test_doctor_reports_ticket_alarms_as_a_warning_and_page_alarms_as_bad() -> None:
    ticket = Alarm("jobs-need-attention", "[ticket] Stage prod: a run has died", "docs/runbooks.md#jobs-need-attention")
    paging = Alarm("runs-late", "[page] Stage prod: runs start late", "docs/runbooks.md#runs-late")
    assert shared.alarms(Alarms([ticket], 40)).verdict is WARNING
    assert shared.alarms(Alarms([ticket, paging], 40)).verdict is BAD


@pytest.mark.parametrize(
    ("found", "verdict"), [(Subscribers(1, 0), OK), (Subscribers(0, 2), BAD), (Subscribers(0, 0), BAD)]
)
def test_doctor_requires_a_confirmed_subscriber(found: Subscribers, verdict: CheckStatus) -> None:
    check = topics.judge(found)
    assert check.verdict is verdict
    assert ("2 wait for confirmation" in check.says) is (found.pending == 2)


def test_doctor_reports_a_stage_without_alarms_as_unknown() -> None:
    assert shared.alarms(Alarms([], 0)).verdict is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (Function("ExecuteHigh", 1_000, 0, 0), OK),
        (Function("ExecuteHigh", 1_000, 3, 2), WARNING),
        (Function("ExecuteHigh", 1_000, 60, 0), BAD),
        (Function("Tick", 60, 1, 0), WARNING),
        (Function("Tick", 60, 0, 1), BAD),
        (Function("Repair", 0, 1, 0), BAD),
    ],
)
def test_doctor_judges_functions_by_their_failure_ratio(function: Function, verdict: CheckStatus) -> None:
    assert surroundings.functions([Function("Api", 10, 0, 0), function]).verdict is verdict


def test_doctor_links_a_function_to_the_section_of_its_most_frequent_problem() -> None:
    assert surroundings.functions([Function("Api", 10, 3, 1)]).runbook == "docs/runbooks.md#functionerrors"
    assert surroundings.functions([Function("Api", 10, 1, 3)]).runbook == "docs/runbooks.md#functionthrottles"


def test_doctor_reports_throttled_tables_as_a_warning() -> None:
    assert surroundings.tables([Table("Jobs", 0), Table("Runs", 0)]).verdict is OK
    assert surroundings.tables([Table("Jobs", 0), Table("Runs", 7)]).verdict is WARNING


@pytest.mark.parametrize(
    ("quotas", "verdict"),
    [
        (Quotas(1_000, 932, None), OK),
        (Quotas(1_000, 932, 700), OK),
        (Quotas(1_000, 932, 850), WARNING),
        (Quotas(1_000, 932, 1_000), BAD),
        (Quotas(10, 10, 1), WARNING),
    ],
)
def test_doctor_reports_an_account_that_approaches_its_quota(quotas: Quotas, verdict: CheckStatus) -> None:
    assert surroundings.quotas(quotas).verdict is verdict


def found(kind: str, age: float = 3_600) -> Found:
    return Found(kind, "acme/nightly", "2026-11-21T03:00:00Z", 2, age)


@pytest.mark.parametrize(
    ("audit", "verdict", "anchor"),
    [
        (AuditState(1_800, [], False, OLD), OK, ""),
        (AuditState(1_800, [found("lost", 3 * DAY)], False, OLD), OK, ""),
        (AuditState(1_800, [found("doubled"), found("lost")], False, OLD), BAD, "occurrenceslost"),
        (AuditState(1_800, [found("doubled")], False, OLD), BAD, "occurrencesdoubled"),
        (AuditState(5 * 3_600, [], False, OLD), WARNING, "auditsfailed"),
        (AuditState(None, [], False, OLD), WARNING, "auditsfailed"),
        (AuditState(None, [], False, 600), OK, ""),
    ],
)
def test_doctor_reports_audit_findings_of_the_last_day(audit: AuditState, verdict: CheckStatus, anchor: str) -> None:
    check = surroundings.audit(audit)
    assert check.verdict is verdict
    assert (check.runbook or "").partition("#")[2] == anchor


def test_doctor_reports_a_lost_occurrence_with_its_job_and_first_instant() -> None:
    says = surroundings.audit(AuditState(1_800, [found("lost")], False, OLD)).says
    assert says == "found in the last day: 2 lost of acme/nightly from 2026-11-21T03:00:00Z"


@pytest.mark.parametrize(
    ("repair", "verdict", "anchor"),
    [
        (RepairState(3_600, True, {"EntriesChecked": 40}, OLD), OK, ""),
        (RepairState(3_600, True, {"EntriesBelowWatermark": 2}, OLD), BAD, "entriesbelowwatermark"),
        (RepairState(3_600, True, {"CursorsOutsideIndex": 1}, OLD), BAD, "cursorsoutsideindex"),
        (RepairState(3_600, False, {"CursorsFoundQuarantined": 1}, OLD), BAD, "cursorsfoundquarantined"),
        (RepairState(3_600, False, {"CursorsReleased": 1}, OLD), BAD, "cursorsreleased"),
        (RepairState(3 * DAY, True, {}, OLD), WARNING, "repairsfailed"),
        (RepairState(None, False, {}, 600), OK, ""),
    ],
)
def test_doctor_reports_findings_of_the_last_index_repair(
    repair: RepairState, verdict: CheckStatus, anchor: str
) -> None:
    check = surroundings.repair(repair)
    assert check.verdict is verdict
    assert (check.runbook or "").partition("#")[2] == anchor
