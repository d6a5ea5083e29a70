import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { Suspense, useState } from "react";
import type { Schemas } from "../api/client";
import { useRefusal } from "../app/context";
import { loaded } from "../app/loaded";
import { to } from "../app/routes";
import type { Plan } from "../dead-letters/useDeadRuns";
import { LastRuns } from "../jobs/LastRuns";
import { useLastRuns } from "../jobs/useLastRuns";
import { withoutCall } from "../shared/errors";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import { useFilters } from "../shared/useFilters";
import { useSlices } from "../shared/useSlices";
import { atLeast, type Found, type Problem, whatOf, worstOf } from "./problems";

const DeadRunsDialog = loaded(() => import("../dead-letters/DeadRunsDialog"));
const PauseDialog = loaded(() => import("../job/PauseDialog"));

const SHOWN = 10;
const DAY = 86_400_000;

/** The jobs and keys with problems, the most severe first. */
export function Attention({ problems, found }: { problems: readonly Problem[]; found: Found }) {
  const [{ owner, tag }, change] = useFilters(["owner", "tag"]);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [pausing, setPausing] = useState<string | null>(null);
  const { items, pagination } = useSlices(problems, SHOWN);
  const shown = items.filter((each) => !each.isKey);
  const { data: jobs } = useLastRuns(
    shown.map(({ id }) => id).sort(),
    shown.map(({ latest }) => latest).join(),
  );
  const reads = Object.values(found);
  const cut = reads.some((read) => read.cut);
  const reading = reads.some((read) => read.items === undefined);
  const filters = Object.entries({ owner, tag }).filter(([, value]) => value !== undefined);
  return (
    <Container
      header={
        <Header
          variant="h2"
          counter={
            problems.length === 0 && reading ? undefined : `(${atLeast(problems.length, cut || reading)})`
          }
          description="Of the last 24 hours, the most severe first."
          actions={pagination}
        >
          Needs attention
        </Header>
      }
    >
      <Suspense>
        {plan !== null && <DeadRunsDialog plan={plan} close={() => setPlan(null)} />}
        {pausing !== null && <PauseDialog id={pausing} close={() => setPausing(null)} />}
      </Suspense>
      {filters.map(([name, value]) => (
        <Button
          key={name}
          iconName="close"
          iconAlign="right"
          ariaLabel={`Show all, not only ${name} ${value}`}
          onClick={() => change({ [name]: undefined })}
        >
          {name}: {value}
        </Button>
      ))}
      {problems.length === 0 && !reading && (
        <Box color="text-body-secondary">
          {cut ? "No problem among the data that were read." : "No problem was found."}
        </Box>
      )}
      <ul className="entries">
        {items.map((each) => (
          <li key={`${each.isKey} ${each.id}`}>
            {each.isKey ? (
              <div className="entry line">
                <What problem={each} /> <Link href={to.limit(each.id)}>{each.id}</Link>
              </div>
            ) : (
              <JobEntry
                problem={each}
                job={jobs?.get(each.id)}
                redrive={() =>
                  setPlan({
                    kind: "redrive",
                    name: `The dead runs of ${each.id} in the last 24 hours`,
                    choice: {
                      kind: "redrive",
                      job_id: each.id,
                      since: new Date(Date.now() - DAY).toISOString().replace(/\.\d+Z$/, "Z"),
                    },
                  })
                }
                pause={() => setPausing(each.id)}
              />
            )}
          </li>
        ))}
      </ul>
    </Container>
  );
}

function What({ problem }: { problem: Problem }) {
  const type = worstOf(problem) === "retrying" ? "warning" : "error";
  return <StatusIndicator type={type}>{whatOf(problem)}</StatusIndicator>;
}

interface EntryProps {
  problem: Problem;
  job: Schemas["Job"] | undefined;
  redrive(): void;
  pause(): void;
}

/** A job with its last runs, owner and runbook. */
function JobEntry({ problem, job, redrive, pause }: EntryProps) {
  const { id, latest, error, code, since, last } = problem;
  const [, change] = useFilters(["owner", "tag"]);
  const refusal = useRefusal("jobs:write");
  const web = /^https?:\/\//i.test(job?.runbook_url ?? "");
  return (
    <>
      <div className="entry">
        <div className="line">
          <Link href={to.job(id)}>{id}</Link> <What problem={problem} />
        </div>
        {error !== null && (
          <div className="said">
            {code !== null && <code>{code}</code>}
            <div className="line">
              <Long text={withoutCall(error)} header={id} />
            </div>
          </div>
        )}
        <div className="facts">
          {job && <LastRuns job={job} />}
          {latest !== null && (
            <Link href={to.run(latest)} variant="secondary">
              {since !== last ? (
                <>
                  since <Time at={since} brief />, last <Time at={last} brief />
                </>
              ) : (
                <Time at={last} brief />
              )}
            </Link>
          )}
          {job?.state === "PAUSED" && <StatusIndicator type="stopped">paused</StatusIndicator>}
          {job && job.owner !== "" && (
            <Button
              variant="inline-link"
              ariaLabel={`Only owner ${job.owner}`}
              onClick={() => change({ owner: job.owner })}
            >
              {job.owner}
            </Button>
          )}
          {job?.tags.slice(0, 3).map((each) => (
            <Button
              key={each}
              variant="inline-link"
              ariaLabel={`Only tag ${each}`}
              onClick={() => change({ tag: each })}
            >
              #{each}
            </Button>
          ))}
          {web && (
            <Link href={job?.runbook_url ?? ""} external>
              Runbook
            </Link>
          )}
        </div>
      </div>
      <SpaceBetween direction="horizontal" size="xs">
        {problem.counts.dead !== undefined && (
          <Button
            ariaLabel={`Redrive ${id}`}
            disabled={refusal !== undefined}
            disabledReason={refusal}
            onClick={redrive}
          >
            Redrive
          </Button>
        )}
        {job?.state === "ACTIVE" && (
          <Button
            ariaLabel={`Pause ${id}`}
            disabled={refusal !== undefined}
            disabledReason={refusal}
            onClick={pause}
          >
            Pause
          </Button>
        )}
      </SpaceBetween>
    </>
  );
}
