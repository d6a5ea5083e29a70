import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { fetcher } from "../api/client";
import { useRefusal } from "../app/context";
import { OperationsBox } from "../operations/OperationsBox";
import { attempts, code, error, job, occurrence, type Run } from "../runs/columns";
import { type Filters, NAMES, rangeOf } from "../runs/filters";
import { RunFilter } from "../runs/RunFilter";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { CARDS, Rows, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { useSlices } from "../shared/useSlices";
import DeadRunsDialog from "./DeadRunsDialog";
import { Groups } from "./Groups";
import { groupsOf } from "./groups";
import type { Kind, Plan } from "./useDeadRuns";

const VERBS: Record<Kind, string> = { redrive: "Redrive", discard: "Discard" };

export default function DeadLettersPage() {
  const [{ group, ...filters }, change] = useFilters([...NAMES, "group"]);
  const list = useInfiniteQuery({
    queryKey: ["dead-letters", filters],
    queryFn: ({ pageParam, signal }) => read(filters, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    refetchOnWindowFocus: false, // it would be every page that was loaded
  });
  const runs = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const groups = useMemo(() => groupsOf(runs), [runs]);
  const shown = group === undefined ? runs : (groups.find((each) => each.pattern === group)?.runs ?? []);
  const slices = useSlices(shown, useNarrow() ? CARDS : 100);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const [plan, setPlan] = useState<Plan | null>(null);
  const refusal = useRefusal("jobs:write");
  const chosen = shown.filter((run) => selected.includes(run.id));
  const these = (kind: Kind, name: string, some: readonly Run[]) =>
    setPlan({ kind, name, runs: some.map((run) => run.id) });
  const all = (kind: Kind) => setPlan({ kind, name: nameOf(filters), choice: choiceOf(kind, filters) });
  const close = () => {
    setPlan(null);
    setSelected([]);
  };
  const zone = useZone();
  const more = list.hasNextPage ? "+" : ""; // the numbers are of the loaded runs
  const filtered = NAMES.some((name) => filters[name] !== undefined);
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={
          <>
            Runs that failed permanently. A redrive restarts a run with a new set of attempts. A discard
            removes it from this list. <Link href="#/runs?state=DISCARDED">Discarded runs</Link>
          </>
        }
        actions={
          <SpaceBetween direction="horizontal" size="xs">
            <Button
              iconName="refresh"
              ariaLabel="Refresh"
              loading={list.isFetching}
              onClick={() => void list.refetch()}
            />
            {(["discard", "redrive"] as const).map((kind) => (
              <Button
                key={kind}
                variant={kind === "redrive" ? "primary" : "normal"}
                disabled={refusal !== undefined || runs.length === 0}
                disabledReason={refusal}
                onClick={() => all(kind)}
              >
                {`${VERBS[kind]} all${filtered ? " runs that match the filters" : ""}`}
              </Button>
            ))}
          </SpaceBetween>
        }
      >
        Dead letters
      </Header>
      <OperationsBox kind="redrive" />
      <OperationsBox kind="discard" />
      <RunFilter
        filters={filters}
        change={(changes) => change({ ...changes, group: undefined })}
        timeLabel="Died"
      />
      <ProblemBox error={list.error} retry={() => void list.refetch()} />
      {groups.length > 0 && (
        <Groups
          groups={groups}
          more={more}
          chosen={group}
          choose={(pattern) => change({ group: pattern })}
          redrive={(each) => these("redrive", `All loaded runs with the error: ${each.pattern}`, each.runs)}
          refusal={refusal}
        />
      )}
      {list.isPending ? (
        <StatusIndicator type="loading">Loading</StatusIndicator>
      ) : (
        <Rows
          {...slices}
          trackBy="id"
          selectionType="multi"
          selectedItems={chosen}
          onSelectionChange={({ detail }) => setSelected(detail.selectedItems.map((run) => run.id))}
          ariaLabels={{
            tableLabel: "Runs",
            selectionGroupLabel: "Runs",
            allItemsSelectionLabel: () => "All runs on this page",
            itemSelectionLabel: (_, run) => run.id,
          }}
          header={
            <Header
              counter={
                list.data && `(${chosen.length > 0 ? `${chosen.length} of ` : ""}${shown.length}${more})`
              }
              description={
                group === undefined ? undefined : <span className="text">With the error: {group}</span>
              }
              actions={
                <SpaceBetween direction="horizontal" size="xs">
                  {(["discard", "redrive"] as const).map((kind) => (
                    <Button
                      key={kind}
                      disabled={chosen.length === 0 || refusal !== undefined}
                      disabledReason={refusal}
                      onClick={() => these(kind, "The selected runs", chosen)}
                    >
                      {VERBS[kind]} selected
                    </Button>
                  ))}
                </SpaceBetween>
              }
            >
              Runs
            </Header>
          }
          columnDefinitions={[
            job,
            {
              id: "died",
              header: "Died",
              width: 125,
              card: 40,
              cell: (run) => <Time at={run.finished_at} brief />,
            },
            { ...occurrence(zone), card: 60 },
            code,
            error,
            attempts,
          ]}
          empty={
            list.error === null && (
              <Box color="text-body-secondary" padding="l">
                {list.hasNextPage
                  ? "No loaded run matches. Load more."
                  : filtered || group !== undefined
                    ? "No dead runs match the filters."
                    : "No runs are dead."}
              </Box>
            )
          }
          footer={
            <Box textAlign="center">
              {list.hasNextPage
                ? `${runs.length} dead ${runs.length === 1 ? "run is" : "runs are"} loaded. More are available. `
                : runs.length > 1 && `All ${runs.length} dead runs are loaded.`}
              {list.hasNextPage && (
                <Button loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                  Load more
                </Button>
              )}
            </Box>
          }
        />
      )}
      {plan !== null && <DeadRunsDialog plan={plan} close={close} />}
    </SpaceBetween>
  );
}

async function read(filters: Filters, cursor: string | undefined, signal: AbortSignal) {
  const { job: job_id, tag, error: text } = filters;
  const query = { job_id, tag, error: text, ...rangeOf(filters, Date.now()), limit: 100, cursor };
  const { data } = await fetcher.GET("/v1/dead-letters", { params: { query }, signal });
  if (data === undefined) throw new SyntaxError("an empty response");
  return data;
}

/** The same filters in the form of an operation, with their current time range. */
function choiceOf(kind: Kind, filters: Filters) {
  const { since = null, until = null } = rangeOf(filters, Date.now());
  return {
    kind,
    job_id: filters.job ?? null,
    tag: filters.tag ?? null,
    error: filters.error ?? null,
    since,
    until,
  };
}

function nameOf(filters: Filters): string {
  const { job_id, tag, error: text, since, until } = choiceOf("redrive", filters);
  const said = Object.entries({
    "of the job": job_id,
    "with the tag": tag,
    "with the error": text,
    since,
    until,
  });
  const parts = said.flatMap(([word, value]) => (value === null ? [] : `${word} ${value}`));
  return parts.length === 0 ? "All dead runs of all jobs" : `All dead runs ${parts.join(", ")}`;
}
