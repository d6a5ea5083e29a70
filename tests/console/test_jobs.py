"""The list of jobs: found, looked over, and many of them changed at once."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect

from duecourse.client.bodies import HttpTarget
from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.console import ServedConsole

TARGET: HttpTarget = {"type": "http", "url": "https://shop.example/hooks"}
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> \u202egnitset"


def rows(page: Page) -> list[str]:
    """The ids that are listed."""
    return page.get_by_role("rowheader").get_by_role("link").all_inner_texts()


def make(scheduler: Scheduler, count: int, name: str = "", owner: str = "") -> None:
    for number in range(count):
        scheduler.client.create_job(
            {
                "id": f"job-{number:03}",
                "name": name,
                "owner": owner,
                "schedule": "0 3 * * *",
                "target": TARGET,
                "tags": [f"t{number % 2}"],
            }
        )


def act(page: Page, action: str, confirmed: str) -> None:
    """Do something to the jobs that are chosen."""
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name=action).click()
    page.get_by_role("dialog").get_by_role("button", name=confirmed).click()


def test_jobs_page_search_continues_past_empty_results(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    asked: list[str] = []

    def scattered(route: Route) -> None:
        """Three pages without a job, the last of which is refused once, and then those that there are."""
        query = parse_qs(urlsplit(route.request.url).query)
        if "total" in query:
            route.continue_()
            return
        cursor = query.get("cursor", ["0"])[0]
        asked.append(cursor)
        if asked == ["0", "1", "2"]:
            route.fulfill(status=429, headers={"Retry-After": "0"}, json={"title": "Too Many Requests", "status": 429})
        elif cursor == "3":
            route.fulfill(response=route.fetch(url=route.request.url.replace("&cursor=3", "")))
        else:
            route.fulfill(json={"items": [], "next_cursor": str(int(cursor) + 1)})

    make(scheduler, 1, owner="finance")
    page = open_page(console, "/nowhere")
    page.route("**/v1/jobs?**", scattered)
    page.goto(f"{console.url}#/jobs?owner=finance")
    expect(page.get_by_role("rowheader").get_by_role("link")).to_have_text(["job-000"])
    assert asked[:5] == ["0", "1", "2", "2", "3"], "the search goes on where it was refused"


def test_jobs_page_row_summarizes_a_job(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 1800, "height": 900})
    page.goto(f"{sampled.url}#/jobs")
    report = page.get_by_role("row", name=re.compile("nightly-report"))
    expect(report).to_contain_text("at 02:00 every day, Europe/Berlin")
    expect(report).to_contain_text("2026-03-29 03:00")
    expect(report).to_contain_text("POST https://shop.example/hooks")
    expect(report).to_contain_text("finance")
    report.scroll_into_view_if_needed()
    expect(report.get_by_role("img")).to_have_accessible_name(re.compile(r"^Last 7 runs, oldest first: SUCCEEDED"))
    export = page.get_by_role("row", name=re.compile("broken-export"))
    expect(export.get_by_role("img")).to_have_accessible_name(re.compile("DEAD$"))
    mailing = page.get_by_role("row", name=re.compile("paused-mailing"))
    expect(mailing).to_contain_text("The template is being rewritten")


def test_jobs_page_search_is_kept_in_the_address(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs?tag=crm")
    expect(page.get_by_role("rowheader")).to_have_count(2)
    assert rows(page) == ["flaky-import", "hourly-sync"]
    page.get_by_role("searchbox", name="Find jobs").press_sequentially("rly-sy")
    expect(page).to_have_url(re.compile(r"#/jobs\?tag=crm&search=rly-sy$"))
    expect(page.get_by_role("rowheader")).to_have_count(1)
    page.goto(f"{sampled.url}#/jobs?state=PAUSED&owner=nobody")
    expect(page.get_by_text("No jobs match.")).to_be_visible()
    page.get_by_role("button", name="Show all jobs").click()
    expect(page.get_by_role("rowheader", name="cleanup")).to_be_visible()
    page.goto(f"{sampled.url}#/jobs?prefix=a%20b")
    expect(page.get_by_text("The query parameter prefix must be")).to_be_visible()


def test_jobs_page_search_finds_parts_of_ids_and_names_while_typing_with_totals(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 120)
    scheduler.client.create_job({"id": "payroll", "name": "Wages 0-11", "schedule": "0 3 * * *", "target": TARGET})
    page = open_page(console, "/jobs")
    expect(page.get_by_role("heading", name="Jobs (121)")).to_be_visible()
    search = page.get_by_role("searchbox", name="Find jobs")
    search.press_sequentially("0-11")
    expect(page.get_by_role("rowheader")).to_have_text([re.compile("payroll")])
    search.fill("b-11")
    expect(page.get_by_role("heading", name="Jobs (10 of 121)")).to_be_visible()
    expect(page.get_by_role("rowheader")).to_have_count(10)
    assert rows(page) == [f"job-{number}" for number in range(110, 120)]
    page.goto(f"{console.url}#/jobs?tag=t1")
    expect(page.get_by_role("heading", name="Jobs (60 of 121)")).to_be_visible()


def test_jobs_page_search_keeps_a_space_between_two_words_and_follows_the_back_button(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "wages", "name": "Pay roll", "schedule": "0 3 * * *", "target": TARGET})
    page = open_page(console, "/jobs")
    search = page.get_by_role("searchbox", name="Find jobs")
    search.press_sequentially("pay ")
    expect(page).to_have_url(re.compile("search=pay$"))
    search.press_sequentially("roll")
    expect(page).to_have_url(re.compile(r"search=pay\+roll$"))
    expect(search).to_have_value("pay roll")
    expect(page.get_by_role("rowheader")).to_have_text([re.compile("wages")])
    page.go_back()
    expect(search).to_have_value("pay")


def test_jobs_page_all_search_results_are_selected_across_pages(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 60)
    scheduler.client.create_job({"id": "other", "schedule": "0 3 * * *", "target": TARGET})
    page = open_page(console, "/jobs?search=job")
    page.get_by_role("checkbox", name="Select job-007").check()
    page.get_by_role("button", name="Select all jobs that match").click()
    expect(page.get_by_role("heading", name="60 selected")).to_be_visible()
    page.get_by_role("button", name="Edit").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("duecourse jobs patch --tag … --set schedule=…")
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    act(page, "Pause", "Pause 60 jobs")
    expect(page.get_by_text("Paused 60 jobs")).to_be_visible()
    assert [url.partition("/v1")[2] for url in sent] == ["/jobs/pause"], "one request for a hundred jobs"
    assert [job.id for job in scheduler.client.list_jobs(state="ACTIVE")] == ["other"]


def test_jobs_page_separate_pause_outlives_the_pause_and_the_resume_of_a_selection(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 3)
    scheduler.client.pause_job("job-002", note="The printer is broken")
    page = open_page(console, "/jobs")

    def choose(action: str) -> None:
        for number in range(3):
            page.get_by_role("checkbox", name=f"Select job-00{number}").check()
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name=action).click()

    choose("Pause")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="End None: until it is resumed").click()
    page.get_by_role("option", name="After 1 hour").click()
    expect(dialog.get_by_text("About 2026-03-28 13:00:00 UTC")).to_be_visible()
    expect(dialog.get_by_role("heading", name="Pause 2 of 3 jobs?")).to_be_visible()
    dialog.get_by_role("button", name="Pause 2 jobs").click()
    expect(page.get_by_text("Paused 2 jobs; skipped 1 job (not active)")).to_be_visible()
    ends = {job.id: job.paused_until for job in scheduler.client.list_jobs(state="PAUSED")}
    assert [(name, end is None) for name, end in ends.items()] == [
        ("job-000", False),
        ("job-001", False),
        ("job-002", True),
    ]
    choose("Resume")
    expect(dialog.get_by_role("checkbox", name="2 jobs paused by local: no reason")).to_be_checked()
    broken = dialog.get_by_role("checkbox", name="1 job paused by local: The printer is broken")
    expect(broken).not_to_be_checked()
    broken.check()
    expect(dialog.get_by_role("heading", name="Resume 3 jobs?")).to_be_visible()
    broken.uncheck()
    expect(dialog.get_by_role("heading", name="Resume 2 of 3 jobs?")).to_be_visible()
    dialog.get_by_role("button", name="Resume 2 jobs").click()
    expect(
        page.get_by_text("Resumed 2 jobs; skipped 1 job (not paused, or in a pause that was not selected)")
    ).to_be_visible()
    assert [job.id for job in scheduler.client.list_jobs(state="PAUSED")] == ["job-002"]


def test_jobs_page_changes_by_other_users_appear_without_a_reload(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 1)
    page = open_page(console, "/jobs")
    expect(page.get_by_role("row", name=re.compile("job-000"))).to_contain_text("ACTIVE")
    scheduler.client.pause_job("job-000")
    page.clock.fast_forward(10_000)
    expect(page.get_by_role("row", name=re.compile("job-000"))).to_contain_text("PAUSED")


def test_jobs_page_paginates_120_jobs(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    make(scheduler, 120)
    page = open_page(console, "/jobs")
    expect(page.get_by_role("rowheader")).to_have_count(50)
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("rowheader", name="job-050")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("rowheader")).to_have_count(20)
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.get_by_role("checkbox", name="Select all jobs on this page").check()
    page.get_by_role("button", name="Previous page").click()
    page.get_by_role("checkbox", name="Select job-050").check()
    act(page, "Pause", "Pause 21 jobs")
    expect(page.get_by_text("Paused 21 jobs")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("job-050"))).to_contain_text("PAUSED")
    assert [job.id for job in scheduler.client.list_jobs(state="PAUSED")] == [
        "job-050",
        *(f"job-{number}" for number in range(100, 120)),
    ]


def test_jobs_page_without_a_match_so_far_is_not_the_end_of_the_list(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/nowhere")
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json={"items": [], "next_cursor": "more"}))
    page.goto(f"{console.url}#/jobs?owner=finance")
    expect(page.get_by_text("Nothing on this page. Go to the next page.")).to_be_visible()
    expect(page.get_by_role("button", name="Next page")).to_be_enabled()


def test_jobs_page_names_the_jobs_that_the_stage_cannot_read(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/nowhere")
    answer = {"items": [], "next_cursor": None, "unreadable": ["nightly"]}
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json=answer))
    page.goto(f"{console.url}#/jobs")
    expect(page.get_by_text("This release cannot read nightly: a newer release wrote it")).to_be_visible()


def test_jobs_page_reaches_pages_after_the_fiftieth(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    """A page has one job here."""
    make(scheduler, 1)

    def paged(route: Route) -> None:
        place = int(parse_qs(urlsplit(route.request.url).query).get("cursor", ["1"])[0])
        found = route.fetch(url=re.sub("&cursor=[0-9]+", "", route.request.url)).json()
        item = {**found["items"][0], "id": f"job-{place:03}"}
        route.fulfill(json={**found, "items": [item], "next_cursor": str(place + 1) if place < 53 else None})

    page = open_page(console, "/nowhere")
    page.route("**/v1/jobs?**", paged)
    page.goto(f"{console.url}#/jobs?page=99")
    for place in (50, 51, 52, 53):
        expect(page.get_by_role("rowheader").get_by_role("link")).to_have_text([f"job-{place:03}"])
        expect(page.get_by_role("button", name=f"Page {place} of ")).to_have_attribute("aria-current", "true")
        if place < 53:
            page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()


def test_jobs_page_bulk_planned_pause_reports_what_was_planned_and_what_was_not(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 2)
    scheduler.client.create_job({"id": "manual", "schedule": None, "target": TARGET})
    page = open_page(console, "/jobs")
    for job_id in ("job-000", "job-001", "manual"):
        page.get_by_role("checkbox", name=f"Select {job_id}").check()
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Pause").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="Start later").check()
    dialog.get_by_placeholder("YYYY-MM-DD").fill("2026-03-29")
    dialog.get_by_placeholder("hh:mm:ss").fill("08:00:00")
    dialog.get_by_role("button", name="End None: until it is resumed").click()
    page.get_by_role("option", name="After 4 hours").click()
    dialog.get_by_role("button", name="Pause 3 jobs").click()
    expect(page.get_by_text("Planned the pause of 2 jobs; could not pause 1 job")).to_be_visible()
    expect(page.get_by_text(re.compile("^manual: "))).to_contain_text(
        "its schedule or a later planned pause does not allow it (a planned pause requires a schedule)"
    )
    assert [job.state for job in scheduler.client.list_jobs()] == ["ACTIVE"] * 3
    assert scheduler.client.get_job("job-000").planned_pause is not None


def test_jobs_page_bulk_run_pause_and_delete_report_their_failures(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 2)
    scheduler.client.put_workflow(
        "flow", {"schedule": None, "jobs": {"step": {"job_id": "step", "job": {"target": TARGET}}}}
    )
    page = open_page(console, "/jobs")
    expect(page.get_by_role("button", name="Actions")).to_be_disabled()
    expect(page.get_by_role("link", name="flow", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="step", exact=True)).to_have_count(0)
    page.get_by_label("Show steps of workflows").click()
    expect(page.get_by_role("link", name="step", exact=True)).to_be_visible()
    for job_id in ("job-000", "job-001"):
        page.get_by_role("checkbox", name=f"Select {job_id}").check()
    act(page, "Run now", "Run 2 jobs")
    expect(page.get_by_text("Started 2 jobs")).to_be_visible()
    assert {call.job_id for call in scheduler.advance(seconds=5)} == {"job-000", "job-001"}
    page.get_by_role("checkbox", name="Select job-000").check()
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Pause").click()
    page.get_by_role("textbox", name="Reason").fill(HOSTILE)
    page.get_by_role("button", name="Pause 1 job", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("job-000"))).to_contain_text(HOSTILE)
    page.get_by_role("checkbox", name="Select job-000").check()
    page.get_by_role("checkbox", name="Select step").check()
    act(page, "Delete", "Delete 2 jobs")
    expect(page.get_by_text("Deleted 1 job; could not delete 1 job")).to_be_visible()
    expect(page.get_by_text("step is a step of the workflow flow")).to_be_visible()
    expect(page.get_by_role("rowheader", name="job-000")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Select step")).to_be_checked()


def test_jobs_page_tenant_text_is_shown_literally_and_chosen_columns_persist(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    make(scheduler, 1, name=HOSTILE, owner=HOSTILE)
    scheduler.client.create_job(
        {
            "id": "wide",
            "schedule": "0 3 * * *",
            "name": "w" * 256,
            "target": {**TARGET, "url": "https://a.example/" + "y" * 2000},
        }
    )
    page = open_page(console, "/nowhere")
    page.set_viewport_size({"width": 1800, "height": 900})
    page.goto(f"{console.url}#/jobs")
    expect(page.get_by_role("rowheader").get_by_text(HOSTILE)).to_be_visible()
    assert page.title() != "owned"
    page.get_by_role("button", name=re.compile("Preferences|Table")).click()
    page.get_by_role("dialog").get_by_role("checkbox", name="Target").uncheck()
    page.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.get_by_role("columnheader", name="Target")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("columnheader", name="Owner")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Target")).to_have_count(0)


def test_jobs_page_columns_of_a_small_window_show_names_and_times(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "job-1234", "name": "Quarterly", "schedule": "rate(20 seconds)", "target": TARGET}
    )
    scheduler.client.create_job({"id": "job-1235", "schedule": None, "target": TARGET})
    once = {"max_attempts": 1}
    scheduler.client.create_job({"id": "job-1236", "schedule": "rate(1 minute)", "target": TARGET, "retry": once})
    scheduler.answer("job-1236", status=500)
    scheduler.advance(minutes=11)
    page = open_page(console, "/nowhere")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{console.url}#/jobs")
    expect(page.get_by_text("Quarterly")).to_be_visible()
    expect(page.get_by_role("img", name="Last 10 runs, oldest first: DEAD")).to_be_visible()
    parts = "cell => [cell, ...cell.querySelectorAll('*')].filter(part => part.clientWidth > 0)"
    cut = f"cell => ({parts})(cell).some(part => part.scrollWidth > part.clientWidth + 1)"
    for row in page.get_by_role("row").all()[1:]:
        for cell in [row.get_by_role("rowheader"), *row.get_by_role("gridcell").all()[1:4]]:
            assert not cell.evaluate(cut), cell.inner_text()


def test_jobs_page_rows_have_two_lines_and_column_widths_persist(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 1800, "height": 900})
    page.goto(f"{sampled.url}#/jobs")
    expect(page.get_by_role("img", name=re.compile("Last .* runs")).first).to_be_visible()
    two_lines_and_the_space_around_them = 62
    heights = [row.bounding_box()["height"] for row in page.get_by_role("row").all()[1:]]  # type: ignore[index]
    assert max(heights) <= two_lines_and_the_space_around_them

    header = page.get_by_role("columnheader", name="Target")

    def width() -> str:
        found: str = header.evaluate("header => getComputedStyle(header).width")
        return found

    before = width()
    header.get_by_role("button").press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    made = width()
    assert float(before.removesuffix("px")) < float(made.removesuffix("px"))
    page.reload()
    expect(header).to_have_css("width", made)
