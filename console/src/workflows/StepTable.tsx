import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { why } from "../job/WhyTab";
import { Long } from "../shared/Long";
import { Rows } from "../shared/Rows";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { whyOf } from "./graph";

/** The steps of a workflow's run: the content of the graph in words, and the actions of each step. */
export function StepTable({
  steps,
  occurrence,
  now,
  rerun,
  refusal,
}: {
  steps: readonly Schemas["StepRun"][];
  occurrence: string;
  now: number;
  rerun(from: string): void;
  refusal: string | undefined;
}) {
  return (
    <Rows
      ariaLabels={{ tableLabel: "Steps of the run" }}
      header={<Header variant="h2">Steps</Header>}
      items={steps}
      columnDefinitions={[
        {
          id: "id",
          header: "Step",
          isRowHeader: true,
          width: 160,
          grow: 1,
          cell: (each) => (
            <>
              <Link href={each.run === null ? to.job(each.job_id) : to.run(each.run)}>{each.id}</Link>
              {each.is_workflow && each.run !== null && (
                <>
                  {" "}
                  <Link
                    href={to.workflowRun(each.job_id, each.run.slice(each.job_id.length + 1))}
                    ariaLabel={`Steps of ${each.id}`}
                  >
                    Steps
                  </Link>
                </>
              )}
              {each.has_items && each.run !== null && (
                <>
                  {" "}
                  <Link
                    href={to.items(each.job_id, each.run.slice(each.job_id.length + 1))}
                    ariaLabel={`Items of ${each.id}`}
                  >
                    Items
                  </Link>
                </>
              )}
            </>
          ),
        },
        {
          id: "state",
          header: "State",
          width: 150,
          card: 50,
          cell: (each) => <RunStatus state={each.state} />,
        },
        {
          id: "after",
          header: "After",
          width: 100,
          grow: 1,
          card: 100,
          cell: (each) => <Long text={each.after.join(", ")} header="After" />,
        },
        {
          id: "took",
          header: "Duration",
          width: 100,
          card: 50,
          labelled: true,
          cell: (each) => {
            const seconds = elapsed(each.started_at, each.finished_at, now);
            return seconds === null ? "-" : duration(seconds);
          },
        },
        {
          id: "attempts",
          header: "Attempts",
          width: 118,
          spare: true,
          card: 50,
          labelled: true,
          cell: (each) => each.attempts,
        },
        {
          id: "why",
          header: "Reason",
          width: 130,
          grow: 2,
          card: 100,
          cell: (each) => <Long text={whyOf(each)} header={each.id} />,
        },
        {
          id: "rerun",
          header: "Action",
          width: 230,
          card: 100,
          cell: (each) => (
            <>
              <Link href={why(each.job_id, occurrence)} ariaLabel={`Explain ${each.id}`}>
                Explain
              </Link>{" "}
              <Button
                variant="inline-link"
                ariaLabel={`Rerun from here: ${each.id}`}
                disabled={refusal !== undefined}
                disabledReason={refusal}
                onClick={() => rerun(each.id)}
              >
                Rerun from here
              </Button>
            </>
          ),
        },
      ]}
    />
  );
}
