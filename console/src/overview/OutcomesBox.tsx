import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { UseQueryResult } from "@tanstack/react-query";
import { ProblemBox } from "../shared/ProblemBox";
import { Bars } from "./Bars";
import { counted, STATES, type State, total } from "./outcomes";
import type { Unsuccessful } from "./useUnsuccessful";

const SAID: Record<State, string> = {
  DEAD: "failed permanently",
  RETRYING: "will be retried",
  CANCELLED: "cancelled",
  SKIPPED: "skipped",
};
const COLOURS: Record<State, string> = {
  DEAD: "var(--dc-error)",
  RETRYING: "var(--dc-warning)",
  CANCELLED: "var(--dc-info)",
  SKIPPED: "var(--dc-inactive)",
};

/** The runs of the last 24 hours that did not succeed. Those that did are in no index across jobs. */
export function OutcomesBox({ query }: { query: UseQueryResult<Unsuccessful> }) {
  const found = query.data;
  const sums = found && STATES.map((state) => ({ state, count: total(found.hours, state) }));
  return (
    <Container
      header={
        <Header variant="h2" description="Grouped by the hour in which the run or its last attempt ended.">
          Unsuccessful runs in the last 24 hours
        </Header>
      }
    >
      <ProblemBox error={query.error} retry={() => void query.refetch()} />
      {query.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {found !== undefined && sums?.every(({ count }) => count === 0) && (
        <Box>All finished runs succeeded.</Box>
      )}
      {found !== undefined && sums?.some(({ count }) => count > 0) && (
        <>
          <Bars
            label="Unsuccessful runs, by hour"
            bars={found.hours.map(({ at, counts, cut }) => ({
              at,
              cut: cut.length > 0,
              parts: STATES.map((state) => ({ count: counts[state], color: COLOURS[state] })),
              text: STATES.map(
                (state) => `${counted(counts[state], cut.includes(state))} ${SAID[state]}`,
              ).join(", "),
            }))}
          />
          <Box>
            {sums.map(({ state, count }, place) => (
              <span key={state}>
                {place > 0 && ", "}
                <span className="key" style={{ background: COLOURS[state] }} />
                <Link href={`#/runs?state=${state}&since=${encodeURIComponent(found.since)}`}>
                  {counted(count, found.cut[state])} {SAID[state]}
                </Link>
              </span>
            ))}
            {found.hours.some(({ cut }) => cut.length > 0) && (
              <span>
                , <span className="key key-cut" />
                not all runs were counted
              </span>
            )}
          </Box>
        </>
      )}
    </Container>
  );
}
