import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { Schemas } from "../api/client";
import { duration } from "../shared/time";

const number = (count: number) => count.toLocaleString("en-GB");

/** The tenant's limits and their usage. */
export function Limits({ stats }: { stats: Schemas["Stats"] | undefined }) {
  return (
    <Container header={<Header variant="h2">Limits and usage of the tenant</Header>}>
      {stats === undefined ? (
        <StatusIndicator type="loading">Loading</StatusIndicator>
      ) : (
        <KeyValuePairs
          columns={3}
          items={[
            {
              type: "pair",
              label: "Jobs",
              value: <Use used={stats.jobs.count} of={stats.jobs.quota} what="jobs" />,
            },
            {
              type: "pair",
              label: "Burst of requests",
              value: (
                <Use
                  used={stats.requests.burst - stats.requests.left}
                  of={stats.requests.burst}
                  what="requests"
                />
              ),
            },
            { type: "pair", label: "Requests per second", value: number(stats.requests.per_second) },
            {
              type: "pair",
              label: "Minimum interval of a schedule",
              value: duration(stats.limits.smallest_interval_seconds),
            },
            { type: "pair", label: "Maximum runs of a backfill", value: number(stats.limits.backfill) },
          ]}
        />
      )}
    </Container>
  );
}

function Use({ used, of, what }: { used: number; of: number; what: string }) {
  const share = of === 0 ? 100 : Math.min((used / of) * 100, 100);
  return (
    <ProgressBar
      value={share}
      ariaLabel={`Usage of ${what}`}
      additionalInfo={`${number(used)} of ${number(of)} ${what}, ${number(Math.max(of - used, 0))} left`}
    />
  );
}
