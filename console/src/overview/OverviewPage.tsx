import "./overview.css";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { api, fetcher, type Schemas } from "../api/client";
import { OVERVIEW, paced } from "../api/polling";
import { useRefusal } from "../app/context";
import { DELAYED, useLoad } from "../load/useLoad";
import { useZone } from "../shared/clock";
import { useNow } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { wall } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { ClockAlert } from "../stage/ClockAlert";
import { Attention } from "./Attention";
import { HoursBox } from "./HoursBox";
import { atLeast, narrowed, problemsOf, type Read, sentenceOf } from "./problems";
import { RunningBox } from "./RunningBox";
import { useFound } from "./useFound";

/** The figures with the runs by hour: one request for both. */
const BY_HOUR = { params: { query: { by: "hour" } } } as const;

/** What needs attention, and what is going on. */
export default function OverviewPage() {
  const stats = api.useQuery("get", "/v1/stats", BY_HOUR, { refetchInterval: () => paced(OVERVIEW) });
  const refusal = useRefusal("jobs:write");
  // All jobs are read only after the first figures are shown.
  const load = useLoad(1, stats.isFetched);
  const { found, active } = useFound(stats.data, load);
  const now = useNow(OVERVIEW);
  const zone = useZone();
  const chosen = useChosen();
  const some = narrowed(found, chosen, now);
  const problems = problemsOf(some, now);
  const sentence = sentenceOf(some, problems, now);
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={
          <span role="status" className="sentence">
            <StatusIndicator type={sentence.type}>
              {sentence.text}
              {sentence.at !== null && ` · ${wall(new Date(sentence.at), zone).slice(11)}`}
            </StatusIndicator>
          </span>
        }
        actions={
          <Button href="#/jobs/new" disabled={refusal !== undefined} disabledReason={refusal}>
            Create job
          </Button>
        }
      >
        Overview
      </Header>
      <ProblemBox error={stats.error} retry={() => void stats.refetch()} />
      <ClockAlert stats={stats.data} />
      {stats.data?.jobs.count === 0 && problems.length === 0 ? (
        <FirstStep />
      ) : (
        <Grid gridDefinition={[{ colspan: { default: 12, s: 8 } }, { colspan: { default: 12, s: 4 } }]}>
          <Attention problems={problems} found={some} />
          <SpaceBetween size="l">
            <HoursBox found={stats.data?.by_hour} failed={stats.isError} />
            <RunningBox read={{ ...found.stuck, items: active.data?.items }} />
            <Coming load={load} stats={stats.data} />
          </SpaceBetween>
        </Grid>
      )}
    </SpaceBetween>
  );
}

function FirstStep() {
  return (
    <Container header={<Header variant="h2">The first step</Header>}>
      There are no jobs yet. A job has a schedule and a target, such as a URL that Duecourse calls every
      night. <Link href="#/jobs/new">Create the first job</Link>, or use the command{" "}
      <code>duecourse jobs create</code>.
    </Container>
  );
}

/** The load of the next hour in a line, and items that are not urgent. */
function Coming({ load, stats }: { load: ReturnType<typeof useLoad>; stats: Schemas["Stats"] | undefined }) {
  const zone = useZone();
  const { data } = load;
  const [busiest] = data?.hot ?? [];
  const dead = stats && atLeast(stats.dead_runs.count, stats.dead_runs.at_least);
  return (
    <Container header={<Header variant="h2">Next hour</Header>}>
      {data === undefined && !load.isError && <StatusIndicator type="loading">Counting</StatusIndicator>}
      {data !== undefined && (
        <Box>
          Upcoming runs: {atLeast(data.runs, data.cut)}
          {data.delayed > 0 && (
            <>
              , <Link href={DELAYED}>{data.delayed.toLocaleString("en-GB")} of them delayed</Link>
            </>
          )}
          {busiest && `; busiest minute: ${wall(busiest.at, zone).slice(11, 16)} (${busiest.runs} runs)`}.{" "}
          <Link href="#/load">Load of the next 24 hours</Link>
        </Box>
      )}
      {data !== undefined && (data.paused > 0 || data.cut) && (
        <div>
          <Link href="#/jobs?state=PAUSED">Paused jobs: {atLeast(data.paused, data.cut)}</Link>
        </div>
      )}
      {stats !== undefined && (
        <div>
          <Link href="#/dead-letters">Dead letters: {dead}</Link>
        </div>
      )}
    </Container>
  );
}

const PAGE = 100;
const PAGES = 10;
const LONG = 300_000;

/** The ids of the jobs that the filters in the address select; null: there are no filters. */
function useChosen(): Read<string> | null {
  const [{ owner, tag }] = useFilters(["owner", "tag"]);
  const all = owner === undefined && tag === undefined;
  const { data, dataUpdatedAt, isError } = useQuery({
    queryKey: ["overview", "chosen", owner, tag],
    enabled: !all,
    staleTime: LONG,
    refetchInterval: () => paced(LONG),
    queryFn: async ({ signal }) => {
      const ids: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page += 1) {
        const query = { owner, tag, limit: PAGE, cursor };
        const { data } = await fetcher.GET("/v1/jobs", { params: { query }, signal });
        ids.push(...(data?.items ?? []).map(({ id }) => id));
        cursor = data?.next_cursor ?? undefined;
      }
      return { ids, cut: cursor !== undefined };
    },
  });
  return all ? null : { items: data?.ids, cut: data?.cut === true, at: dataUpdatedAt, failed: isError };
}
