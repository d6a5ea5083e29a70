import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { UseQueryResult } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import type { Plan } from "../dead-letters/useRedrive";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { counted } from "./outcomes";
import type { Unsuccessful } from "./useUnsuccessful";

const RedriveDialog = lazy(() =>
  import("../dead-letters/RedriveDialog").then((file) => ({ default: file.RedriveDialog })),
);

const SHOWN = 6;

/** The jobs whose runs failed permanently in the last 24 hours, by name. */
export function FailedBox({ query }: { query: UseQueryResult<Unsuccessful> }) {
  const found = query.data;
  const [plan, setPlan] = useState<Plan | null>(null);
  const refusal = useRefusal("jobs:write");
  const more = (found?.failed.length ?? 0) - SHOWN;
  return (
    <Container
      header={
        <Header
          variant="h2"
          counter={found && `(${counted(found.failed.length, found.cut.DEAD)})`}
          description="Jobs whose runs failed permanently in the last 24 hours and were not redriven."
        >
          Jobs with dead runs
        </Header>
      }
    >
      {plan !== null && (
        <Suspense>
          <RedriveDialog plan={plan} close={() => setPlan(null)} />
        </Suspense>
      )}
      <ProblemBox error={query.error} retry={() => void query.refetch()} />
      {query.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {query.error === null && found?.failed.length === 0 && (
        <StatusIndicator type="success">No runs failed permanently.</StatusIndicator>
      )}
      <ul className="entries">
        {found?.failed.slice(0, SHOWN).map(({ id, runs, latest, last, error }) => (
          <li key={id}>
            <div className="entry line">
              <Link href={to.job(id)}>{id}</Link>
              <div className="line" title={error ?? undefined}>
                <Link href={to.run(latest)} variant="secondary">
                  {counted(runs, found.cut.DEAD)} {runs === 1 ? "run" : "runs"}, <Time at={last} brief />
                </Link>{" "}
                <span className="text">{error?.slice(0, 300)}</span>
              </div>
            </div>
            <Button
              ariaLabel={`Redrive ${id}`}
              disabled={refusal !== undefined}
              disabledReason={refusal}
              onClick={() =>
                setPlan({ name: `The dead runs of ${id} in the last 24 hours`, job: id, since: found.since })
              }
            >
              Redrive
            </Button>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <Box>
          <Link href={`#/dead-letters?since=${encodeURIComponent(found?.since ?? "")}`}>
            and {counted(more, found?.cut.DEAD === true)} more {more === 1 ? "job" : "jobs"}
          </Link>
        </Box>
      )}
    </Container>
  );
}
