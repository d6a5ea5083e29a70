import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { useNow } from "../shared/Instant";
import { duration, elapsed } from "../shared/time";
import { atLeast, type Read } from "./problems";

const SHOWN = 8;
const RUNS = 10;
const STALE = 600_000;
export const RUNNING = "RUNNING,WAITING";

/** The runs in progress, the latest first, with the usual duration of their jobs. */
export function RunningBox({ read }: { read: Read<Schemas["Run"]> }) {
  const { items, cut } = read;
  return (
    <Container
      header={
        <Header
          variant="h2"
          counter={items && `(${atLeast(items.length, cut)})`}
          description="Calls of more than ten seconds, and runs that wait for a callback or for steps."
        >
          Running now
        </Header>
      }
    >
      {items === undefined && !read.failed && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {items === undefined && read.failed && <StatusIndicator type="pending">Not known</StatusIndicator>}
      {items?.length === 0 && <Box color="text-body-secondary">There are no such runs.</Box>}
      <ul className="entries">
        {items?.slice(0, SHOWN).map((run) => (
          <Running key={run.id} run={run} />
        ))}
      </ul>
      {items && items.length > SHOWN && <Link href={`#/runs?state=${RUNNING}`}>Show all</Link>}
    </Container>
  );
}

function Running({ run }: { run: Schemas["Run"] }) {
  const now = useNow(10_000);
  const { data: usual } = useQuery({
    queryKey: ["overview", "usual", run.job_id],
    staleTime: STALE,
    queryFn: ({ signal }) => usualOf(run.job_id, signal),
  });
  const long = elapsed(run.attempt_started_at ?? run.started_at, null, now);
  const slow = long !== null && usual != null && long > 2 * usual + 60;
  const text = [
    run.state === "WAITING" && "waiting,",
    long === null ? "starting" : duration(Math.max(long, 0)),
    usual != null && `(usually ${duration(usual)})`,
  ];
  return (
    <li>
      <div className="line entry">
        <Link href={to.run(run.id)}>{run.job_id}</Link>
        <div>
          {slow ? (
            <StatusIndicator type="warning">{text.filter(Boolean).join(" ")}</StatusIndicator>
          ) : (
            text.filter(Boolean).join(" ")
          )}
        </div>
      </div>
    </li>
  );
}

/** The median duration of a job's last successful runs, in seconds; null: it has none. */
async function usualOf(job_id: string, signal: AbortSignal): Promise<number | null> {
  const params = { path: { job_id }, query: { state: "SUCCEEDED", limit: RUNS } };
  const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", { params, signal });
  const long = data?.items.flatMap((run) => elapsed(run.attempt_started_at, run.finished_at) ?? []) ?? [];
  return long.sort((one, other) => one - other)[Math.floor(long.length / 2)] ?? null;
}
