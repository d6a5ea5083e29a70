import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { api, LIVE } from "../api/client";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";

const SHOWN = 10;
export const RUNNING = "RUNNING,WAITING";

/** The runs in progress, the latest first. */
export function RunningBox() {
  const running = api.useQuery(
    "get",
    "/v1/runs",
    { params: { query: { state: RUNNING, limit: SHOWN } } },
    { refetchInterval: LIVE },
  );
  const found = running.data;
  const count = `${found?.items.length}${found?.next_cursor ? "+" : ""}`;
  return (
    <Container
      header={
        <Header
          variant="h2"
          counter={found && `(${count})`}
          description="Runs whose call has taken more than ten seconds, and runs that are waiting for a callback or for steps."
        >
          Running now
        </Header>
      }
    >
      <ProblemBox error={running.error} retry={() => void running.refetch()} />
      {running.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {found?.items.length === 0 && <Box>There are no such runs.</Box>}
      <ul className="entries">
        {found?.items.map((run) => (
          <li key={run.id}>
            <div className="line entry">
              <Link href={to.run(run.id)}>{run.job_id}</Link>
              <div>
                {run.state === "WAITING" ? "waiting (for a callback or for steps), started" : "started"}{" "}
                <Time at={run.started_at} brief />
              </div>
            </div>
          </li>
        ))}
      </ul>
      {found?.next_cursor && <Link href={`#/runs?state=${RUNNING}`}>Show all</Link>}
    </Container>
  );
}
