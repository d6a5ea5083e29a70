import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import Table from "@cloudscape-design/components/table";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { useSlices } from "../shared/useSlices";
import type { Group } from "./groups";

const JOBS_NAMED = 3;

/** Dead runs by what went wrong. */
export function Groups({
  groups,
  chosen,
  choose,
  redrive,
  refusal,
}: {
  groups: readonly Group[];
  chosen: string | undefined;
  choose(pattern: string | undefined): void;
  redrive(group: Group): void;
  refusal: string | undefined;
}) {
  const slices = useSlices(groups);
  return (
    <Table
      {...slices}
      trackBy="pattern"
      wrapLines
      header={<Header counter={`(${groups.length})`}>By error</Header>}
      columnDefinitions={[
        {
          id: "pattern",
          header: "Error",
          isRowHeader: true,
          minWidth: 220,
          cell: (group) => <span className="text">{group.pattern}</span>,
        },
        { id: "count", header: "Runs", cell: (group) => group.runs.length },
        {
          id: "jobs",
          header: "Jobs",
          cell: ({ jobs }) => (
            <>
              {jobs.slice(0, JOBS_NAMED).map((id) => (
                <div key={id}>
                  <Link href={to.job(id)}>{id}</Link>
                </div>
              ))}
              {jobs.length > JOBS_NAMED && `and ${jobs.length - JOBS_NAMED} others`}
            </>
          ),
        },
        { id: "last", header: "Last died", cell: (group) => <Time at={group.last} brief /> },
        {
          id: "do",
          header: "Actions",
          minWidth: 170,
          cell: (group) => (
            <>
              <Button
                variant="inline-link"
                ariaLabel={`${group.pattern === chosen ? "Show all groups" : "Show"}: ${group.pattern}`}
                onClick={() => choose(group.pattern === chosen ? undefined : group.pattern)}
              >
                {group.pattern === chosen ? "Show all groups" : "Show"}
              </Button>{" "}
              <Button
                variant="inline-link"
                ariaLabel={`Redrive ${group.runs.length}: ${group.pattern}`}
                disabled={refusal !== undefined}
                disabledReason={refusal}
                onClick={() => redrive(group)}
              >
                Redrive {group.runs.length}
              </Button>
            </>
          ),
        },
      ]}
    />
  );
}
