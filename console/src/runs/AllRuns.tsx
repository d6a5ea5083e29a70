import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Searched } from "duecourse";
import { type ReactNode, useState } from "react";
import { api } from "../api/client";
import { ProblemBox } from "../shared/ProblemBox";
import { patiently } from "../shared/patiently";
import { CARDS, Rows, useNarrow } from "../shared/Rows";
import { wall } from "../shared/time";
import { columns } from "./columns";
import { type Filters, saidOf } from "./filters";
import { type AllRunsPage, type Batch, START, search } from "./searching";

/** The time between two reads of a list that takes one request (ms): each job costs a query. */
const EVERY = 10_000;

/** All runs of any number of jobs, newest occurrence first. A search that takes several requests shows how far it has
 * come, and is repeated on request only.
 */
export function AllRuns({
  filters,
  read,
  zone,
  filter,
  empty,
}: {
  filters: Filters;
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<AllRunsPage>;
  zone: string;
  filter: ReactNode;
  empty: ReactNode;
}) {
  const count = useNarrow() ? CARDS : 50;
  const key = JSON.stringify(filters);
  const [latest, setLatest] = useState<{ key: string; searched: Searched | undefined }>();
  const searched = latest?.key === key ? latest.searched : undefined;
  const list = useInfiniteQuery({
    queryKey: ["all runs", filters, count],
    queryFn: ({ pageParam, signal }) =>
      search(
        pageParam,
        count,
        // Each later request separately: the search must not restart if the API requires a wait.
        (cursor) =>
          cursor === undefined ? read(cursor, signal) : patiently(() => read(cursor, signal), signal),
        (searched) => setLatest({ key, searched }),
      ),
    initialPageParam: START,
    getNextPageParam: (batch: Batch) => batch.rest,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (repeats(state.data?.pages) ? EVERY : false),
  });
  const batches = list.data?.pages ?? [];
  const jobs = useJobs(list.isFetching && filters.tag === undefined && (searched?.jobs ?? 0) > 0);
  const progress = (list.isFetching && progressOf(searched, jobs, zone)) || "Loading";
  const oldest = batches.at(-1)?.runs.at(-1);
  return (
    <>
      <ProblemBox error={list.error} retry={() => void list.refetch()} />
      <Rows
        variant="full-page"
        stickyHeader
        trackBy="id"
        items={batches.flatMap((batch) => batch.runs)}
        loading={list.isPending}
        loadingText={progress}
        header={
          <Header
            variant="h1"
            description={saidOf(filters)}
            actions={
              !repeats(batches) && (
                <Button
                  iconName="refresh"
                  ariaLabel="Refresh"
                  loading={list.isFetching}
                  onClick={() => void list.refetch()}
                />
              )
            }
          >
            Runs
          </Header>
        }
        filter={filter}
        columnDefinitions={columns(zone)}
        empty={
          list.error === null && (
            <Box textAlign="center" color="text-body-secondary" padding="s">
              {empty}
            </Box>
          )
        }
        footer={
          list.hasNextPage && (
            <Box textAlign="center">
              <SpaceBetween size="xs">
                {list.isFetchingNextPage
                  ? progress
                  : oldest && `Searched back to ${wall(oldest.occurrence, zone)}`}
                <Button loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                  Load more
                </Button>
              </SpaceBetween>
            </Box>
          )
        }
      />
    </>
  );
}

/** Whether the list is one page that one request reads. */
function repeats(batches: readonly Batch[] = []): boolean {
  return batches.length === 0 || (batches.length === 1 && batches[0]?.requests === 1);
}

/** The number of all jobs, if `wanted`. */
function useJobs(wanted: boolean): number | undefined {
  const stats = api.useQuery("get", "/v1/stats", {}, { enabled: wanted, staleTime: 60_000 });
  return stats.data?.jobs.count;
}

/** How far a search has come, such as `Searched all jobs back to 2026-11-21 14:05:00, and 480 of 2,000 jobs further back`. */
function progressOf(
  searched: Searched | undefined,
  all: number | undefined,
  zone: string,
): string | undefined {
  if (searched === undefined) return undefined;
  const { complete_from: since, jobs } = searched;
  const of = all === undefined ? "" : ` of ${Math.max(jobs, all).toLocaleString("en-GB")}`;
  const count = jobs > 0 && `${jobs.toLocaleString("en-GB")}${of} jobs`;
  if (since === null) return count ? `Searched ${count}` : undefined;
  return `Searched all jobs back to ${wall(since, zone)}${count ? `, and ${count} further back` : ""}`;
}
