import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { lazy, Suspense, useState } from "react";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import { jobsText } from "../jobs/texts";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { Bars } from "./Bars";
import type { Load } from "./load";
import { BAR_MINUTES, type useLoad } from "./useLoad";

const SpreadDialog = lazy(() => import("./SpreadDialog").then((file) => ({ default: file.SpreadDialog })));

const USUAL = "var(--dc-inactive)";
const BUSIEST = "var(--dc-info)";

/** The runs that come due in the next 24 hours. */
export function LoadBox({ load }: { load: ReturnType<typeof useLoad> }) {
  const found = load.data;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description={
            found &&
            `Upcoming runs: ${found.runs.toLocaleString("en-GB")}, according to the schedules of ` +
              `${found.cut ? "the first " : ""}${jobsText(found.jobs)}. Manual runs are not included.`
          }
        >
          The next 24 hours
        </Header>
      }
    >
      <ProblemBox error={load.error} retry={() => void load.refetch()} />
      {load.isPending && (
        <StatusIndicator type="loading">
          Counting{load.soFar > 0 && `: ${load.soFar.toLocaleString("en-GB")} jobs so far`}
        </StatusIndicator>
      )}
      {found !== undefined && found.runs === 0 && <Box>No active job has an upcoming run.</Box>}
      {found !== undefined && found.runs > 0 && (
        <>
          <Bars
            label={`Upcoming runs per ${BAR_MINUTES} minutes; highlighted bars contain one of the busiest minutes`}
            bars={found.bars.map(({ at, runs, hot }) => ({
              at,
              parts: [{ count: runs, color: hot ? BUSIEST : USUAL }],
              text: `${runs.toLocaleString("en-GB")} ${runs === 1 ? "run" : "runs"}${hot ? "; this interval contains one of the busiest minutes" : ""}`,
            }))}
          />
          {found.hot.length > 0 && (
            <Box>
              <span className="key" style={{ background: USUAL }} />
              runs due; <span className="key" style={{ background: BUSIEST }} />
              runs due in an interval with one of the busiest minutes
            </Box>
          )}
          <Hot minutes={found.hot} />
        </>
      )}
    </Container>
  );
}

const NAMED = 3;

/** The runs of a minute whose jobs are not named. */
function others(minute: Load["hot"][number]): number {
  return minute.runs - minute.jobs.slice(0, NAMED).reduce((all, job) => all + job.runs, 0);
}

function Hot({ minutes }: { minutes: Load["hot"] }) {
  const [spreading, setSpreading] = useState<Date | null>(null);
  const refusal = useRefusal("jobs:write");
  if (minutes.length === 0) return null;
  return (
    <div>
      <Box variant="h3">The busiest minutes</Box>
      <ul>
        {minutes.map((minute) => (
          <li key={minute.at.getTime()}>
            <Time at={minute.at.toISOString()} />: {minute.runs.toLocaleString("en-GB")} runs:{" "}
            {minute.jobs.slice(0, NAMED).map((job, place) => (
              <span key={job.id}>
                {place > 0 && ", "}
                <Link href={to.job(job.id)}>{job.id}</Link> ({job.runs})
              </span>
            ))}
            {others(minute) > 0 && `, other jobs (${others(minute).toLocaleString("en-GB")})`}{" "}
            <Button
              variant="inline-link"
              disabled={refusal !== undefined}
              disabledReason={refusal}
              onClick={() => setSpreading(minute.at)}
            >
              Spread these jobs…
            </Button>
          </li>
        ))}
      </ul>
      {spreading !== null && (
        <Suspense>
          <SpreadDialog minute={spreading} close={() => setSpreading(null)} />
        </Suspense>
      )}
    </div>
  );
}
