import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import { Rows, useNarrow } from "../shared/Rows";
import { useSlices } from "../shared/useSlices";
import type { Group } from "./groups";

/** Dead runs, grouped by error. */
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
  const slices = useSlices(groups, useNarrow() ? 5 : 10);
  return (
    <Rows
      {...slices}
      trackBy="pattern"
      ariaLabels={{ tableLabel: "By error" }}
      header={<Header counter={`(${groups.length})`}>By error</Header>}
      columnDefinitions={[
        {
          id: "pattern",
          header: "Error",
          isRowHeader: true,
          width: 300,
          grow: 2,
          cell: ({ pattern }) => <Long text={pattern} header="Error" />,
        },
        {
          id: "jobs",
          header: "Jobs",
          width: 170,
          grow: 1,
          card: 100,
          cell: ({ jobs: [first = "", ...others] }) => (
            <span title={[first, ...others].join(", ")}>
              <Link href={to.job(first)}>{first}</Link>
              {others.length > 0 && ` and ${others.length} more`}
            </span>
          ),
        },
        {
          id: "last",
          header: "Last died",
          width: 120,
          card: 40,
          cell: (group) => <Time at={group.last} brief />,
        },
        {
          id: "do",
          header: "Actions",
          width: 200,
          card: 60,
          cell: (group) => (
            <SpaceBetween direction="horizontal" size="m">
              <Button
                variant="inline-link"
                ariaLabel={`${group.pattern === chosen ? "Show all groups" : "Show"}: ${group.pattern}`}
                onClick={() => choose(group.pattern === chosen ? undefined : group.pattern)}
              >
                {group.pattern === chosen ? "Show all groups" : "Show"}
              </Button>
              <Button
                variant="inline-link"
                ariaLabel={`Redrive ${group.runs.length}: ${group.pattern}`}
                disabled={refusal !== undefined}
                disabledReason={refusal}
                onClick={() => redrive(group)}
              >
                Redrive {group.runs.length}
              </Button>
            </SpaceBetween>
          ),
        },
      ]}
    />
  );
}
