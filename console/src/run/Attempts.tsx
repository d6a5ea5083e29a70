import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { Time, useNow } from "../shared/Instant";
import { Long } from "../shared/Long";
import { Rows } from "../shared/Rows";
import { duration, elapsed } from "../shared/time";
import { Zoned } from "../shared/Zoned";
import { StripChart } from "./StripChart";
import { isOver, type SingleRun, stripOf } from "./strip";

const OUTCOMES: Record<string, StatusIndicatorProps.Type> = {
  succeeded: "success",
  failed: "error",
  lost: "error",
  cancelled: "stopped",
};

type Attempt = SingleRun["attempt_list"][number];

/** The attempts of a run, and the waits between them. */
export function Attempts({ run, zone, isWorkflow }: { run: SingleRun; zone: string; isWorkflow: boolean }) {
  const now = useNow(isOver(run) ? null : 1_000);
  const strip = stripOf(run, now);
  const all = run.attempt_list;
  return (
    <Container header={<Header counter={`(${run.attempts} of ${run.max_attempts})`}>Attempts</Header>}>
      <SpaceBetween size="m">
        {strip !== null && <StripChart strip={strip} zone={zone} />}
        <Rows
          variant="embedded"
          ariaLabels={{ tableLabel: "Attempts" }}
          items={all}
          trackBy={(attempt) => String(attempt.number)}
          empty={<Box color="text-body-secondary">No attempt has started.</Box>}
          columnDefinitions={[
            {
              id: "number",
              header: "Attempt",
              isRowHeader: true,
              width: 110,
              cell: (attempt) => `Attempt ${attempt.number}`,
            },
            {
              id: "outcome",
              header: "Outcome",
              width: 210,
              card: 50,
              cell: ({ outcome }) =>
                outcome === null ? (
                  <StatusIndicator type="in-progress">
                    {run.state !== "WAITING"
                      ? "running"
                      : isWorkflow
                        ? "waiting for the steps"
                        : run.execution !== null
                          ? "waiting for its execution"
                          : "waiting for the callback"}
                  </StatusIndicator>
                ) : (
                  <StatusIndicator type={OUTCOMES[outcome] ?? "info"}>{outcome}</StatusIndicator>
                ),
            },
            {
              id: "waited",
              header: "Delay",
              width: 100,
              card: 50,
              labelled: true,
              cell: (attempt) => {
                const before = all[all.indexOf(attempt) - 1];
                const from = attempt.number === 1 ? run.due : (before?.ended_at ?? null);
                return long(attempt.started_at === null ? null : elapsed(from, attempt.started_at));
              },
            },
            {
              id: "started",
              header: <Zoned text="Started" zone={zone} />,
              width: 190,
              card: 60,
              cell: (attempt) => <Time at={attempt.started_at} zone={zone} bare />,
            },
            {
              id: "took",
              header: "Duration",
              width: 110,
              card: 40,
              labelled: true,
              cell: ({ started_at, ended_at, outcome }) =>
                ended_at === null && outcome !== null ? "unknown" : long(elapsed(started_at, ended_at, now)),
            },
            ...(all.some(({ worker }) => worker)
              ? [
                  {
                    id: "worker",
                    header: "Worker",
                    width: 150,
                    card: 100,
                    labelled: true,
                    has: ({ worker }: Attempt) => worker !== null,
                    cell: ({ worker }: Attempt) => <span className="text">{worker ?? "-"}</span>,
                  },
                ]
              : []),
            {
              id: "code",
              header: "Code",
              width: 110,
              card: 50,
              labelled: true,
              cell: (attempt) => attempt.code ?? "-",
            },
            {
              id: "error",
              header: "Error",
              width: 170,
              grow: 1,
              card: 100,
              has: ({ error }) => error !== null,
              cell: ({ error }) => <Long text={error} header="Error" />,
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
