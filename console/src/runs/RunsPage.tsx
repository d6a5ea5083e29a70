import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, fetcher, LIVE } from "../api/client";
import { asProblem } from "../api/problem";
import { useZone } from "../shared/clock";
import { PagedTable } from "../shared/PagedTable";
import { CARDS, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { columns } from "./columns";
import { type Filters, INDEXED, listOf, NAMES, rangeOf, STATES } from "./filters";
import { RunFilter } from "./RunFilter";

const SAID = {
  "of a job": (job: string) => `All runs of ${job}, in the order of their occurrences.`,
  "found in a job": (job: string) => `Unsuccessful runs of ${job}, or runs in the selected states.`,
  "across jobs": () => "All runs, newest first.",
};

/** Each job costs a query (ms). */
const MERGED = 10_000;

export default function RunsPage() {
  const [filters, change] = useFilters(NAMES);
  const list = listOf(filters);
  const limit = useNarrow() ? CARDS : 50;
  // Above 500 jobs the API does not list successful runs across jobs.
  const [crowd, setCrowd] = useState<string | null>(null);
  const crowded = crowd === (filters.tag ?? "");
  const merged = list === "across jobs" && (filters.state ?? "SUCCEEDED").includes("SUCCEEDED") && !crowded;
  const pages = usePages(
    ["runs", filters, limit, crowded],
    async (cursor, signal) => {
      const state =
        filters.state ?? (list !== "across jobs" ? undefined : (crowded ? INDEXED : STATES).join());
      try {
        return await read({ ...filters, state }, limit, cursor, signal);
      } catch (error) {
        if (filters.state !== undefined || crowded || asProblem(error).status !== 422) throw error;
        setCrowd(filters.tag ?? "");
        return await read({ ...filters, state: INDEXED.join() }, limit, undefined, signal);
      }
    },
    { every: merged ? MERGED : LIVE },
  );
  const job = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: filters.job ?? "" } } },
    { enabled: filters.job !== undefined, staleTime: Number.POSITIVE_INFINITY },
  );
  const zone = useZone(job.data?.timezone);
  const filtered = NAMES.some((name) => filters[name] !== undefined);
  const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, undefined])));
  return (
    <PagedTable
      pages={pages}
      trackBy="id"
      header={
        <Header
          variant="h1"
          description={
            crowded && list === "across jobs" && filters.state === undefined
              ? "All runs except successful ones, newest first. There are too many jobs to list successful runs: choose a job or a tag."
              : SAID[list](filters.job ?? "")
          }
        >
          Runs
        </Header>
      }
      filter={
        <RunFilter
          filters={filters}
          change={change}
          states={STATES}
          timeLabel={list === "of a job" ? "Occurrence" : "Ended"}
        />
      }
      columnDefinitions={columns(zone)}
      empty={
        <SpaceBetween size="s">
          <Box>
            {pages.pagination.openEnd
              ? "No runs on this page. Go to the next page."
              : filtered
                ? "No runs match the filters."
                : "No job has run yet."}
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
