import "../shared/colors.css";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { to as addressOf } from "../app/routes";
import { withoutCall } from "../shared/errors";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import { Rows, useNarrow } from "../shared/Rows";
import { useSlices } from "../shared/useSlices";
import { type Group, sparkOf } from "./groups";

/** Dead runs, grouped by error. */
export function Groups({
  groups,
  more,
  chosen,
  choose,
  redrive,
  refusal,
}: {
  groups: readonly Group[];
  /** What follows a number of groups: a plus if there are runs that were not loaded. */
  more: string;
  chosen: string | undefined;
  choose(pattern: string | undefined): void;
  redrive(group: Group): void;
  refusal: string | undefined;
}) {
  const slices = useSlices(groups, useNarrow() ? 5 : 10, "groups");
  const ends = groups.flatMap(({ first, last }) => [Date.parse(first ?? ""), Date.parse(last ?? "")]);
  const known = ends.filter((each) => !Number.isNaN(each));
  const [from, to] = [Math.min(...known), Math.max(...known)];
  return (
    <Rows
      {...slices}
      trackBy="pattern"
      ariaLabels={{ tableLabel: "By error" }}
      header={<Header counter={`(${groups.length}${more})`}>By error</Header>}
      columnDefinitions={[
        {
          id: "pattern",
          header: "Error",
          isRowHeader: true,
          width: 180,
          grow: 2,
          cell: ({ pattern }) => <Long text={withoutCall(pattern)} header="Error" />,
        },
        { id: "code", header: "Code", width: 150, card: 50, cell: (group) => group.code ?? "-" },
        {
          id: "jobs",
          header: "Jobs",
          width: 130,
          grow: 1,
          card: 100,
          cell: ({ jobs: [first = "", ...others] }) => (
            <span title={[first, ...others].join(", ")}>
              <Link href={addressOf.job(first)}>{first}</Link>
              {others.length > 0 && ` and ${others.length} more`}
            </span>
          ),
        },
        {
          id: "first",
          header: "First died",
          width: 120,
          card: 100,
          labelled: true,
          cell: (group) => <Time at={group.first} brief />,
        },
        {
          id: "last",
          header: "Last died",
          width: 120,
          card: 100,
          labelled: true,
          cell: (group) => <Time at={group.last} brief />,
        },
        {
          id: "spark",
          header: "Over time",
          width: 140,
          spare: true,
          cell: (group) => <Spark counts={sparkOf(group.times, from, to)} />,
        },
        {
          id: "do",
          header: "Actions",
          width: 200,
          card: 100,
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

function Spark({ counts }: { counts: readonly number[] }) {
  const most = Math.max(...counts, 1);
  return (
    <svg
      width={counts.length * 6}
      height={18}
      role="img"
      aria-label={`Dead runs over time: ${counts.join(", ")}`}
    >
      {counts.map((count, place) => {
        const height = count === 0 ? 1 : Math.max((count / most) * 18, 3);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a place in time
            key={place}
            x={place * 6}
            y={18 - height}
            width={5}
            height={height}
            style={{ fill: count === 0 ? "var(--dc-line)" : "var(--dc-error)" }}
          />
        );
      })}
    </svg>
  );
}
