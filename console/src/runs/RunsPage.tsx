import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, fetcher } from "../api/client";
import { PagedTable } from "../shared/PagedTable";
import { CARDS, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { columns } from "./columns";
import { type Filters, listOf, NAMES, rangeOf, STATES, UNSUCCESSFUL } from "./filters";
import { RunFilter } from "./RunFilter";

const SAID = {
  "of a job": (job: string) => `All runs of ${job}, by their occurrences.`,
  "found in a job": (job: string) => `Unsuccessful runs of ${job}, or runs in the selected states.`,
  "across jobs": () =>
    "Unsuccessful runs: dead, retrying, cancelled or skipped. Choose a job to see all of its runs.",
};

export default function RunsPage() {
  const [filters, change] = useFilters(NAMES);
  const list = listOf(filters);
  const limit = useNarrow() ? CARDS : 50;
  const pages = usePages(["runs", filters, limit], (cursor, signal) => read(filters, limit, cursor, signal));
  const job = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: filters.job ?? "" } } },
    { enabled: filters.job !== undefined, staleTime: Number.POSITIVE_INFINITY },
  );
  const filtered = NAMES.some((name) => filters[name] !== undefined);
  const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, undefined])));
  return (
    <PagedTable
      pages={pages}
      trackBy="id"
      header={
        <Header variant="h1" description={SAID[list](filters.job ?? "")}>
          Runs
        </Header>
      }
      filter={
        <RunFilter
          filters={filters}
          change={change}
          states={filters.job === undefined ? UNSUCCESSFUL : STATES}
          timeLabel={list === "of a job" ? "Occurrence" : "Ended"}
        />
      }
      columnDefinitions={columns(job.data?.timezone)}
      empty={
        <SpaceBetween size="s">
          <Box>
            {pages.pagination.openEnd
              ? "No runs on this page. Go to the next page."
              : filtered
                ? "No runs match the filters."
                : "No runs are dead, retrying, cancelled or skipped."}
          </Box>
          {filtered && <Button onClick={clear}>Clear the filters</Button>}
        </SpaceBetween>
      }
    />
  );
}

async function read(filters: Filters, limit: number, cursor: string | undefined, signal: AbortSignal) {
  const { state, job, tag, error } = filters;
  const { since, until } = rangeOf(filters, Date.now());
  const { data } =
    job !== undefined && listOf(filters) === "of a job"
      ? await fetcher.GET("/v1/jobs/{job_id}/runs", {
          params: { path: { job_id: job }, query: { state, from: since, to: until, limit, cursor } },
          signal,
        })
      : await fetcher.GET("/v1/runs", {
          params: { query: { state, job, tag, error, since, until, limit, cursor } },
          signal,
        });
  if (data === undefined) throw new SyntaxError("an empty response");
  return data;
}
