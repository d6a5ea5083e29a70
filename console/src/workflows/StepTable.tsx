import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import Table from "@cloudscape-design/components/table";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { why } from "../job/WhyTab";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { whyOf } from "./graph";

/** The jobs of a workflow's run: the graph's facts in words, and what can be done from each. */
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
    <Table
      wrapLines
      enableKeyboardNavigation
      ariaLabels={{ tableLabel: "Steps of the run" }}
      header={<Header variant="h2">Steps</Header>}
      items={steps}
      columnDefinitions={[
        {
          id: "id",
          header: "Step",
          isRowHeader: true,
          cell: (each) => (
            <Link href={each.run === null ? to.job(each.id) : to.run(each.run)}>{each.id}</Link>
          ),
        },
        { id: "state", header: "State", minWidth: 150, cell: (each) => <RunStatus state={each.state} /> },
        { id: "after", header: "After", cell: (each) => each.after.join(", ") || "-" },
        {
          id: "took",
          header: "Duration",
          cell: (each) => {
            const seconds = elapsed(each.started_at, each.finished_at, now);
            return seconds === null ? "-" : duration(seconds);
          },
        },
        { id: "attempts", header: "Attempts", cell: (each) => each.attempts },
        {
          id: "why",
          header: "Reason",
          minWidth: 240,
          cell: (each) => (
            <>
              <div className="text lines" title={whyOf(each)} style={{ WebkitLineClamp: 2 }}>
                {whyOf(each)}
              </div>
              <Link href={why(each.id, occurrence)} ariaLabel={`Explain ${each.id}`}>
                Explain
              </Link>
            </>
          ),
        },
        {
          id: "rerun",
          header: "Action",
          minWidth: 190,
          cell: (each) => (
            <Button
              variant="inline-link"
              ariaLabel={`Rerun from here: ${each.id}`}
              disabled={refusal !== undefined}
              disabledReason={refusal}
              onClick={() => rerun(each.id)}
            >
              Rerun from here
            </Button>
          ),
        },
      ]}
    />
  );
}
