import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { Schemas } from "../api/client";
import { Time } from "../shared/Instant";
import { duration } from "../shared/time";
import { ClockAlert } from "./ClockAlert";
import { useStageMetrics } from "./useStageMetrics";
import "./lanes.css";

/** Whether the clock ticks, and how full the lanes are. */
export function ClockBox({ stats }: { stats: Schemas["Stats"] | undefined }) {
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="A tick starts the dispatch of due runs every minute. A lane is a priority with its own queues and workers."
        >
          Ticks and lanes
        </Header>
      }
    >
      {stats === undefined ? (
        <StatusIndicator type="loading">Loading</StatusIndicator>
      ) : (
        <ColumnLayout columns={2}>
          <Clock stats={stats} />
          {stats.lanes && <Lanes lanes={stats.lanes} />}
        </ColumnLayout>
      )}
    </Container>
  );
}

function Clock({ stats }: { stats: Schemas["Stats"] }) {
  const last = stats.tick.last === null ? "none yet" : <Time at={stats.tick.last} />;
  if (stats.status === "ok") {
    return (
      <div>
        <StatusIndicator type="success">Ticks are running</StatusIndicator>
        <Box color="text-body-secondary">Last tick: {last}</Box>
      </div>
    );
  }
  return <ClockAlert stats={stats} />;
}

/** Requires the scope `ops`: a lane has the messages of all tenants. */
function Lanes({ lanes }: { lanes: NonNullable<Schemas["Stats"]["lanes"]> }) {
  const metrics = useStageMetrics().data;
  return (
    <table className="lanes">
      <caption>Messages in the lanes of all tenants (approximate)</caption>
      <thead>
        <tr>
          <th scope="col">Lane</th>
          <th scope="col">Due and waiting</th>
          <th scope="col">Being processed</th>
          <th scope="col">Delayed until due</th>
          <th scope="col">Oldest message</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(lanes).map(([lane, depth]) => (
          <tr key={lane}>
            <th scope="row">{lane}</th>
            {depth === null ? (
              <td colSpan={3}>unknown: SQS did not respond</td>
            ) : (
              [depth.waiting, depth.in_flight, depth.delayed].map((count, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the columns stay where they are
                <td key={column}>{count.toLocaleString("en-GB")}</td>
              ))
            )}
            <td>{metrics && age(metrics.figures?.oldest_message_seconds, lane)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function age(oldest: Record<string, number | null> | undefined, lane: string): string {
  if (oldest === undefined) return "unknown";
  const seconds = oldest[lane] ?? null;
  return seconds === null ? "no data" : duration(seconds);
}
