import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { ReactNode } from "react";
import { api, fetcher } from "../api/client";
import { useZone } from "../shared/clock";
import { PagedTable } from "../shared/PagedTable";
import { CARDS, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { AllRuns } from "./AllRuns";
import { CancelRuns } from "./CancelRuns";
import { columns } from "./columns";
import { cancellationOf, type Filters, listOf, NAMES, omittedOf, rangeOf, STATES, saidOf } from "./filters";
import { RunFilter } from "./RunFilter";

export default function RunsPage() {
  const [filters, change] = useFilters(NAMES);
  const list = listOf(filters);
  const job = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: filters.job ?? "" } } },
    { enabled: filters.job !== undefined, staleTime: Number.POSITIVE_INFINITY },
  );
  const zone = useZone(job.data?.timezone);
  const filtered = NAMES.some((name) => filters[name] !== undefined);
  const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, undefined])));
  const filter = (
    <RunFilter
      filters={filters}
      change={change}
      states={STATES}
      timeLabel={list === "of a job" || list === "of all jobs" ? "Occurrence" : "Ended"}
    />
  );
  const empty = (text: string) => (
    <SpaceBetween size="s">
      <Box>{text}</Box>
      {filtered && <Button onClick={clear}>Clear the filters</Button>}
    </SpaceBetween>
  );
  const matching =
    omittedOf(filters).length > 0 ? "No listed runs match the filters." : "No runs match the filters.";
  const nothing = filtered ? matching : "No job has run yet.";
  const state = filters.state ?? (list === "of all jobs" ? STATES.join() : undefined);
  const parts = { filters: { ...filters, state }, zone, filter };
  return list === "of all jobs" ? (
    <AllRuns
      {...parts}
      read={(cursor, signal) => read(parts.filters, 50, cursor, signal)}
      empty={empty(nothing)}
    />
  ) : (
    <Listed
      {...parts}
      empty={(openEnd) => empty(openEnd ? "No runs on this page. Go to the next page." : nothing)}
    />
  );
}

/** A list that an index, or one job, has in its order. */
function Listed({
  filters,
  zone,
  filter,
  empty,
}: {
  filters: Filters;
  zone: string;
  filter: ReactNode;
  empty(openEnd: boolean): ReactNode;
}) {
  const limit = useNarrow() ? CARDS : 50;
  const pages = usePages(["runs", filters, limit], (cursor, signal) => read(filters, limit, cursor, signal));
  return (
    <PagedTable
      pages={pages}
      trackBy="id"
      header={
        <Header
          variant="h1"
          description={saidOf(filters)}
          actions={
            cancellationOf(filters, Date.now()) !== undefined && (
              <CancelRuns choose={() => cancellationOf(filters, Date.now()) ?? { state: [] }} />
            )
          }
        >
          Runs
        </Header>
      }
      filter={filter}
      columnDefinitions={columns(zone)}
      empty={empty(pages.pagination.openEnd)}
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
