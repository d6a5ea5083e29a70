"""`for_each` in `duecourse.testing`: an application tests its workflow with a list of its own."""

from duecourse.testing import Answer, Scheduler, TargetCall

URL = {"type": "http", "url": "https://shop.example/hooks"}


def test_for_each_in_tests_calls_the_target_once_for_each_item_and_redrives_the_dead_ones() -> None:
    with Scheduler("2026-11-20T10:00:00Z") as scheduler:
        failing = {1}

        @scheduler.target
        def answer(call: TargetCall) -> Answer:
            assert isinstance(call.payload, dict)
            return Answer(422 if call.payload.get("n") in failing else 200, {"n": call.payload.get("n")})

        load = {"target": URL, "payload": {"file": "{{item}}", "n": "{{index}}"}}
        scheduler.client.put_workflow(
            "files",
            {
                "schedule": None,
                "payload": ["a", "b", "c"],
                "jobs": {"load": {"job": load, "for_each": "{{workflow.payload}}", "at_once": 2}},
            },
        )
        run = scheduler.client.run_job("files")
        scheduler.advance(minutes=1)
        assert scheduler.client.get_run(run.id).state == "DEAD"
        assert sorted(str(call.payload["file"]) for call in scheduler.calls) == ["a", "b", "c"]
        failing.clear()
        scheduler.client.redrive_run(run.id)
        again = scheduler.advance(minutes=1)
        assert [call.payload for call in again] == [{"file": "b", "n": 1}]
        assert scheduler.client.get_run(run.id).state == "SUCCEEDED"
        view = scheduler.client.get_workflow_run("files--load", run.id.partition(".")[2])
        assert [(step.id, step.state) for step in view.jobs] == [
            ("0", "SUCCEEDED"),
            ("1", "SUCCEEDED"),
            ("2", "SUCCEEDED"),
        ]
