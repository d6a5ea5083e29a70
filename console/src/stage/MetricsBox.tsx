import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { Bars } from "../shared/Bars";
import { ProblemBox } from "../shared/ProblemBox";
import { duration } from "../shared/time";
import { type Figures, type Step, steps } from "./metrics";
import { Objectives } from "./Objectives";
import { useStageMetrics } from "./useStageMetrics";

const LATENESS = { median: "var(--dc-info)", p99: "var(--dc-inactive)" };

const ENDS = [
  { end: "succeeded", said: "succeeded", color: "var(--dc-success)" },
  { end: "retried", said: "retried", color: "var(--dc-warning)" },
  { end: "dead", said: "failed permanently", color: "var(--dc-error)" },
] as const;

/** How late runs began and how they ended, of all tenants. Only CloudWatch keeps it. */
export function MetricsBox() {
  const query = useStageMetrics();
  const found = query.data;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="All tenants, in intervals of 30 minutes. CloudWatch metrics are delayed by a few minutes."
        >
          Stage metrics, last 24 hours
        </Header>
      }
    >
      <ProblemBox error={query.error} retry={() => void query.refetch()} />
      {query.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {found?.figures === null && (
        <StatusIndicator type="pending">
          Unknown: <span className="text">{found.error}</span>
        </StatusIndicator>
      )}
      {found?.figures && (
        <ColumnLayout columns={2} minColumnWidth={280}>
          <Lateness figures={found.figures} />
          <Outcomes figures={found.figures} />
          <Objectives objectives={found.figures.objectives} />
        </ColumnLayout>
      )}
    </Container>
  );
}

function Lateness({ figures }: { figures: Figures }) {
  return (
    <section aria-label="Lateness">
      <Header variant="h3">Lateness</Header>
      {figures.lateness.length === 0 ? (
        <Box>No data yet.</Box>
      ) : (
        <>
          <Bars
            label="Lateness (median and p99), in intervals of 30 minutes"
            written={duration}
            bars={steps(figures).map(({ at, lateness }) => ({
              at,
              parts: [
                { count: lateness?.median_seconds ?? 0, color: LATENESS.median },
                { count: lateness ? lateness.p99_seconds - lateness.median_seconds : 0, color: LATENESS.p99 },
              ],
              text: late(lateness),
            }))}
          />
          <Box>
            <span className="key" style={{ background: LATENESS.median }} />
            median, <span className="key" style={{ background: LATENESS.p99 }} />
            p99
          </Box>
        </>
      )}
    </section>
  );
}

function late(lateness: Step["lateness"]): string {
  if (lateness === undefined) return "no runs started";
  const { median_seconds, p99_seconds } = lateness;
  return `median ${duration(median_seconds)}, p99 ${duration(p99_seconds)}`;
}

function Outcomes({ figures }: { figures: Figures }) {
  return (
    <section aria-label="Outcomes">
      <Header variant="h3">Outcomes</Header>
      {figures.outcomes.length === 0 ? (
        <Box>No data yet.</Box>
      ) : (
        <>
          <Bars
            label="Runs that succeeded, were retried or failed permanently, in intervals of 30 minutes"
            bars={steps(figures).map(({ at, outcomes }) => ({
              at,
              parts: ENDS.map(({ end, color }) => ({ count: outcomes?.[end] ?? 0, color })),
              text: ENDS.map(({ end, said }) => `${outcomes?.[end] ?? 0} ${said}`).join(", "),
            }))}
          />
          <Box>
            {ENDS.map(({ end, said, color }, place) => (
              <span key={end}>
                {place > 0 && ", "}
                <span className="key" style={{ background: color }} />
                {figures.outcomes.reduce((all, each) => all + each[end], 0).toLocaleString("en-GB")} {said}
              </span>
            ))}
          </Box>
        </>
      )}
    </section>
  );
}
