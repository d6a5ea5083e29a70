import BarChart from "@cloudscape-design/components/bar-chart";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { UseQueryResult } from "@tanstack/react-query";
import { ProblemBox } from "../shared/ProblemBox";
import { HERE } from "../shared/time";
import { CHART_TEXTS } from "./chartTexts";
import { counted, STATES, type State, total } from "./outcomes";
import type { Unsuccessful } from "./useUnsuccessful";

const SAID: Record<State, string> = {
  DEAD: "failed for good",
  RETRYING: "will be retried",
  CANCELLED: "cancelled",
  SKIPPED: "skipped",
};
const COLOURS: Record<State, string> = {
  DEAD: "#ba2e0f",
  RETRYING: "#cc5f21",
  CANCELLED: "#6b40b2",
  SKIPPED: "#688ae8",
};

/** The runs of the last 24 hours that did not succeed. Those that did are in no index across jobs. */
export function OutcomesBox({ query }: { query: UseQueryResult<Unsuccessful> }) {
  const found = query.data;
  const sums = found && STATES.map((state) => ({ state, count: total(found.hours, state) }));
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="By the hour in which they ended, or in which their last attempt did."
        >
          Runs without success in the last 24 hours
        </Header>
      }
    >
      <ProblemBox error={query.error} retry={() => void query.refetch()} />
      {query.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {found !== undefined && sums?.every(({ count }) => count === 0) && !found.cut && (
        <Box>There are none: every run that ended has succeeded.</Box>
      )}
      {found !== undefined && sums?.some(({ count }) => count > 0) && (
        <>
          <BarChart<Date>
            height={160}
            stackedBars
            hideFilter
            ariaLabel="Runs without success, by hour"
            xTitle={`When (${HERE})`}
            yTitle="Runs"
            xScaleType="categorical"
            xDomain={found.hours.map((hour) => hour.at)}
            i18nStrings={CHART_TEXTS}
            series={STATES.map((state) => ({
              type: "bar",
              title: SAID[state],
              color: COLOURS[state],
              data: found.hours.map((hour) => ({ x: hour.at, y: hour.counts[state] })),
            }))}
          />
          <Box>
            {sums.map(({ state, count }, place) => (
              <span key={state}>
                {place > 0 && ", "}
                <Link href={`#/runs?state=${state}&since=${encodeURIComponent(found.since)}`}>
                  {counted(count, found.cut)} {SAID[state]}
                </Link>
              </span>
            ))}
          </Box>
        </>
      )}
    </Container>
  );
}
