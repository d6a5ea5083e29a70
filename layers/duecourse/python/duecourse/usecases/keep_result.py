"""Results: small ones stay in the record, larger ones go to the store of results."""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from duecourse.domain.run import Run
from duecourse.ports import Results
from duecourse.usecases.report import Report, in_words

INLINE_BYTES = 2048
"""JSON of this size stays in the record: with the rest of it that is 3 write units at most, mostly 1."""

EXCERPT_CHARACTERS = 1000


def result_key(run: Run) -> str:
    """`results/default/nightly/20261121T064700Z/1.json`: attempts never overwrite each other's."""
    return f"results/{run.tenant}/{run.job_id}/{run.name.local}/{run.attempt}.json"


@dataclass(frozen=True, slots=True)
class KeepResult:
    """Moves a large result out of the record that is about to be written."""

    results: Results

    def kept(self, run: Run, report: Report) -> Run:
        """The run with its result where it belongs. A store that refuses costs the result, never the run's success:
        its beginning is kept instead.
        """
        if run.result is None:
            return run
        document = orjson.dumps(run.result)
        if len(document) <= INLINE_BYTES:
            return run
        key = result_key(run)
        try:
            self.results.put(key, document)
        except Exception as problem:  # noqa: BLE001 - whatever the store says, the run has succeeded
            report.counts["ResultsLost"] += 1
            error = in_words(problem)
            report.add("result_lost", alarming=True, tenant=run.tenant, run_id=str(run.name), error=error)
            beginning = document.decode()[:EXCERPT_CHARACTERS]
            return replace(run, result={"body": beginning, "truncated": True}, result_bytes=len(document))
        return replace(run, result=None, result_key=key, result_bytes=len(document))
