import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { Suspense, useState } from "react";
import { useRefusal } from "../app/context";
import { loaded } from "../app/loaded";
import { to } from "../app/routes";
import { jobsText } from "../jobs/texts";
import { Bars } from "../shared/Bars";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import type { Load } from "./load";
import { BAR_MINUTES, DELAYED, useLoad } from "./useLoad";

const SpreadDialog = loaded(() => import("./SpreadDialog"));

const USUAL = "var(--dc-inactive)";
const BUSIEST = "var(--dc-info)";

/** The runs that come due in the next 24 hours. */
export default function LoadPage() {
  const load = useLoad(24);
  const found = load.data;
  return (
    <Container
      header={
        <Header
          variant="h1"
          description={
            found && (
              <>
                Upcoming runs of {jobsText(found.jobs)}: {found.cut && "at least "}
                {found.runs.toLocaleString("en-GB")}
                {found.delayed > 0 && (
                  <>
                    , <Link href={DELAYED}>{found.delayed.toLocaleString("en-GB")} of them delayed</Link>
                  </>
                )}
                . Other manual runs are not included.
                {found.cut && " There are more jobs or delayed runs than were counted."}
              </>
            )
          }
        >
          Load of the next 24 hours
        </Header>
      }
    >
      <ProblemBox error={load.error} retry={() => void load.refetch()} />
      {load.isPending && (
        <StatusIndicator type="loading">
          Counting{load.soFar > 0 && `: ${load.soFar.toLocaleString("en-GB")} jobs so far`}
        </StatusIndicator>
      )}
      {found !== undefined && found.runs === 0 && <Box>No job has an upcoming run.</Box>}
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
