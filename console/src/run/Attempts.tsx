import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { Time, useNow } from "../shared/Instant";
import { duration, elapsed } from "../shared/time";
import { StripChart } from "./StripChart";
import { isOver, type SingleRun, stripOf } from "./strip";

const OUTCOMES: Record<string, StatusIndicatorProps.Type> = {
  succeeded: "success",
  failed: "error",
  lost: "error",
  cancelled: "stopped",
};

/** What a run's attempts were and how long it waited between them. */
export function Attempts({ run, zone }: { run: SingleRun; zone: string }) {
  const now = useNow(isOver(run) ? null : 1_000);
  const strip = stripOf(run, now);
  const all = run.attempt_list;
  return (
    <Container header={<Header counter={`(${run.attempts} of ${run.max_attempts})`}>Attempts</Header>}>
      <SpaceBetween size="m">
        {strip !== null && <StripChart strip={strip} zone={zone} />}
        <Table
          variant="embedded"
          wrapLines
          items={all}
          trackBy={(attempt) => String(attempt.number)}
          empty={<Box color="text-body-secondary">No attempt has started.</Box>}
          columnDefinitions={[
            { id: "number", header: "Attempt", isRowHeader: true, cell: (attempt) => attempt.number },
            {
              id: "outcome",
              header: "Outcome",
              minWidth: 130,
              cell: ({ outcome }) =>
                outcome === null ? (
                  <StatusIndicator type="in-progress">
                    {run.state === "WAITING" ? "waiting for the callback" : "running"}
                  </StatusIndicator>
                ) : (
                  <StatusIndicator type={OUTCOMES[outcome] ?? "info"}>{outcome}</StatusIndicator>
                ),
            },
            {
              id: "waited",
              header: "Delay",
              cell: (attempt) => {
                const before = all[all.indexOf(attempt) - 1];
                const from = attempt.number === 1 ? run.due : (before?.ended_at ?? null);
                return long(attempt.started_at === null ? null : elapsed(from, attempt.started_at));
              },
            },
            {
              id: "started",
              header: "Started",
              minWidth: 170,
              cell: (attempt) => <Time at={attempt.started_at} zone={zone} />,
            },
            {
              id: "took",
              header: "Duration",
              cell: ({ started_at, ended_at, outcome }) =>
                ended_at === null && outcome !== null ? "unknown" : long(elapsed(started_at, ended_at, now)),
            },
            { id: "code", header: "Code", cell: (attempt) => attempt.code ?? "-" },
            {
              id: "error",
              header: "Error",
              minWidth: 220,
              cell: ({ error }) => (
                <div className="text lines" title={error ?? undefined} style={{ WebkitLineClamp: 3 }}>
                  {error ?? "-"}
                </div>
              ),
            },
          ]}
        />
      </SpaceBetween>
    </Container>
  );
}

function long(seconds: number | null): string {
  return seconds === null ? "-" : duration(Math.max(seconds, 0));
}
