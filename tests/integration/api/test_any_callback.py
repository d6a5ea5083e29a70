"""Whatever is posted about a run: never a 5xx, and the record is the worker's alone."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Completion
from duecourse.messages import MessageKind, read_run_message
from tests.support.api import ApiClient
from tests.support.api_events import api_event
from tests.support.jobs import stored_job
from tests.support.runs import TOKEN, waiting_run
from tests.support.tables import Tables

texts = st.text(st.characters(codec=None), max_size=30)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
bodies: dict[str, st.SearchStrategy[Any]] = {
    "complete": st.fixed_dictionaries({"result": anything}),
    "fail": st.fixed_dictionaries(
        {"error": texts},
        optional={"code": texts | st.just("own.code"), "retryable": st.booleans(), "retry_after": st.floats()},
    ),
    "heartbeat": anything,
    "cancel": anything,
    "redrive": anything,
}
several = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def test_callbacks_arbitrary_json_is_accepted_completely_or_refused(tables: Tables) -> None:
    api = ApiClient.over(tables)
    steady = stored_job(api.jobs, id="steady", completion=Completion.CALLBACK)
    record = waiting_run(steady, heartbeat_until=None)
    api.runs.write(record, None)
    tokens = st.just(str(TOKEN)) | texts.filter(lambda text: text.isascii())

    @several
    @given(st.data(), st.sampled_from(sorted(bodies)), tokens)
    def post(data: st.DataObject, action: str, token: str) -> None:
        body = data.draw(bodies[action] | anything)
        api.wheel.sent.clear()
        headers = {"authorization": f"Bearer {token}"}
        answer = api.send(api_event("POST", f"/v1/runs/{record.name}/{action}", body=json.dumps(body), headers=headers))
        assert answer.status in (200, 202, 400, 401, 409, 422), answer.text
        assert (answer.status == 202) == bool(api.wheel.sent)
        assert api.runs.get("default", "steady", record.name.local) == record
        for one in api.wheel.sent:
            arrived = read_run_message(one.message.to_json())
            assert arrived.kind == MessageKind(action)
            if action == "complete":
                assert arrived.command.result == body.get("result")

    post()
