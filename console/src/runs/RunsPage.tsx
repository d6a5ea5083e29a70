import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, fetcher } from "../api/client";
import { OperationsBox } from "../operations/OperationsBox";
import { useZone } from "../shared/clock";
import { PagedTable } from "../shared/PagedTable";
import { CARDS, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { CancelRuns } from "./CancelRuns";
import { columns } from "./columns";
import {
  cancellationOf,
  type Filters,
  listOf,
  NAMES,
  omittedOf,
  rangeOf,
  STATES,
  saidOf,
  statesOf,
} from "./filters";
import { RunFilter } from "./RunFilter";

export default function RunsPage() {
  const [filters, change] = useFilters(NAMES);
  const job = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: filters.job ?? "" } } },
    { enabled: filters.job !== undefined, staleTime: Number.POSITIVE_INFINITY },
  );
  const zone = useZone(job.data?.timezone);
  const filtered = NAMES.some((name) => filters[name] !== undefined);
  const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, undefined])));
  const limit = useNarrow() ? CARDS : 50;
  const pages = usePages(["runs", filters, limit], (cursor, signal) => read(filters, limit, cursor, signal));
  // The states of which the stage lists no runs across jobs.
  const unlisted: readonly string[] = pages.page?.unlisted ?? [];
  const states = listOf(filters) === "of a job" ? STATES : STATES.filter((each) => !unlisted.includes(each));
  const matching =
    omittedOf(filters, unlisted).length > 0
      ? "No listed runs match the filters."
      : "No runs match the filters.";
  const nothing = filtered ? matching : "No job has run yet.";
  return (
    <SpaceBetween size="l">
      <OperationsBox kind="cancel" />
      <PagedTable
        pages={pages}
        trackBy="id"
        header={
          <Header
            variant="h1"
            description={saidOf(filters, unlisted)}
            actions={
              cancellationOf(filters, Date.now()) !== undefined && (
                <CancelRuns
                  choose={() => cancellationOf(filters, Date.now()) ?? { kind: "cancel", state: [] }}
                />
              )
            }
          >
            Runs
          </Header>
        }
        filter={
          <RunFilter
            filters={filters}
            change={change}
            states={states}
            timeLabel={listOf(filters) === "of a job" ? "Occurrence" : "Ended"}
          />
        }
        columnDefinitions={columns(zone)}
        empty={
          <SpaceBetween size="s">
            <Box>{nothing}</Box>
            {filtered && <Button onClick={clear}>Clear the filters</Button>}
          </SpaceBetween>
        }
      />
    </SpaceBetween>
  );
}

async function read(filters: Filters, limit: number, cursor: string | undefined, signal: AbortSignal) {
  const { job, tag, error, worker } = filters;
  const { since, until } = rangeOf(filters, Date.now());
  const { data } =
    job !== undefined && listOf(filters) === "of a job"
      ? await fetcher.GET("/v1/jobs/{job_id}/runs", {
          params: {
            path: { job_id: job },
            query: { ...statesOf(filters), worker, from: since, to: until, limit, cursor },
          },
          signal,
        })
      : await fetcher.GET("/v1/runs", {
          params: { query: { ...statesOf(filters), job, tag, error, worker, since, until, limit, cursor } },
          signal,
        });
  if (data === undefined) throw new SyntaxError("an empty response");
  return { ...data, unlisted: "unlisted" in data ? data.unlisted : undefined };
}
