import Link from "@cloudscape-design/components/link";
import Select from "@cloudscape-design/components/select";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { PagedTable } from "../shared/PagedTable";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { EVER } from "./reading";
import { reasonText } from "./reasons";

const STATES = [
  "QUEUED",
  "RUNNING",
  "WAITING",
  "RETRYING",
  "SUCCEEDED",
  "DEAD",
  "CANCELLED",
  "SKIPPED",
] as const;

const CAUGHT_UP = "caught-up";

/** The query's parameters for a choice of the filter. */
function chosen(state: string | undefined) {
  if (state === CAUGHT_UP) return { caught_up: "true" as const, from: EVER };
  return { state, ...(state === undefined && { from: EVER }) };
}

/** The runs of a job, or of a workflow, which is one. */
export function RunsTab({
  jobId,
  zone,
  address = to.run,
}: {
  jobId: string;
  zone: string;
  address?: (runId: string) => string;
}) {
  const [{ state }, change] = useFilters(["state"]);
  const pages = usePages(["runs of", jobId, state], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", {
      params: {
        path: { job_id: jobId },
        query: { limit: 20, cursor, ...chosen(state) },
      },
      signal,
    });
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  });
  const options = [
    { label: "All except upcoming", value: "" },
    { label: "Caught up", value: CAUGHT_UP },
    ...STATES.map((each) => ({ label: each, value: each })),
  ];
  return (
    <PagedTable
      pages={pages}
      variant="embedded"
      stickyHeader={false}
      ariaLabels={{ tableLabel: "Runs" }}
      filter={
        <Select
          ariaLabel="State"
          options={options}
          selectedOption={options.find((each) => each.value === (state ?? "")) ?? null}
          onChange={({ detail }) => change({ state: detail.selectedOption.value })}
        />
      }
      empty={
        state === CAUGHT_UP
          ? "There was no catch-up."
          : state
            ? `No runs are ${state}. Choose another state.`
            : "The job has not run yet."
      }
      columnDefinitions={[
        {
          id: "run",
          header: "Occurrence",
          isRowHeader: true,
          cell: (run) => (
            <Link href={address(run.id)}>
              <Time at={run.occurrence} zone={zone} />
            </Link>
          ),
        },
        { id: "state", header: "State", minWidth: 150, cell: (run) => <RunStatus state={run.state} /> },
        {
          id: "took",
          header: "Duration",
          cell: (run) => {
            const seconds = elapsed(run.started_at, run.finished_at);
            return seconds === null ? "-" : duration(seconds);
          },
        },
        {
          id: "late",
          header: "Lateness",
          cell: (run) => (run.lateness_seconds === null ? "-" : duration(Math.max(run.lateness_seconds, 0))),
        },
        { id: "attempts", header: "Attempts", cell: (run) => `${run.attempts} of ${run.max_attempts}` },
        {
          id: "why",
          header: "Reason",
          cell: (run) => (
            <span className="text">
              {[
                run.count > 1 && `covers ${run.count} occurrences`,
                reasonText(run.reason),
                run.error,
                run.requested_by && `by ${run.requested_by}`,
              ]
                .filter(Boolean)
                .join("; ") || "-"}
            </span>
          ),
        },
      ]}
    />
  );
}
