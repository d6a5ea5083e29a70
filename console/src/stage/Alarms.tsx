import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { Schemas } from "../api/client";
import { Time } from "../shared/Instant";
import { Runbook } from "./Runbook";

/** The active alarms, the time since which they are active, and the remedy. */
export function Alarms({ stage }: { stage: Schemas["Stage"] | undefined }) {
  const alarms = stage?.alarms;
  return (
    <Container
      header={
        <Header
          variant="h2"
          counter={alarms ? `(${alarms.ringing.length} of ${alarms.count})` : undefined}
          description={
            alarms && alarms.without_data > 0 ? `Alarms without data: ${alarms.without_data}.` : undefined
          }
        >
          Active alarms
        </Header>
      }
    >
      {stage === undefined && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {alarms === null && (
        <>
          <StatusIndicator type="pending">The alarms could not be read.</StatusIndicator>
          <Box>See the finding "alarms" for the reason. Open CloudWatch to view the alarms.</Box>
        </>
      )}
      {alarms?.ringing.length === 0 && (
        <StatusIndicator type={alarms.without_data > 0 ? "info" : "success"}>
          {alarms.without_data > 0 ? "No alarm with data is active." : "No alarm is active."}
        </StatusIndicator>
      )}
      <SpaceBetween size="m">
        {alarms?.ringing.map((alarm) => (
          <section key={alarm.name} aria-label={alarm.name}>
            <StatusIndicator type="error">{alarm.name}</StatusIndicator>
            <Box>
              Since <Time at={alarm.since} />
            </Box>
            {partsOf(alarm.description, alarm.runbook).map((part) => (
              <Box key={part}>
                <span className="text">{part}</span>
              </Box>
            ))}
            {alarm.runbook !== null && (
              <Box>
                Runbook: <Runbook page={alarm.runbook} />
              </Box>
            )}
          </section>
        ))}
      </SpaceBetween>
    </Container>
  );
}

/** The parts of an alarm's description: the meaning, the first step, and the query. */
export function partsOf(description: string, runbook: string | null): string[] {
  return description
    .split(/\s+(?=(?:First|Find|Runbook): )/)
    .filter((part) => runbook === null || !part.startsWith("Runbook: "));
}
