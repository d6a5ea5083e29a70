import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Schemas } from "../api/client";
import { Time } from "../shared/Instant";

const dollars = (amount: number) => `$${amount.toFixed(2)}`;

/** The capacity that the stage raises before many runs are due. Only stages with `prescale` have it. */
export function PeaksBox({ prescale }: { prescale: NonNullable<Schemas["Stats"]["prescale"]> }) {
  const { peaks, queues, history } = prescale;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Before more runs are due than the lanes can start within ten seconds, the stage requests pollers and throughput."
        >
          Capacity for peaks
        </Header>
      }
    >
      <SpaceBetween size="m">
        <KeyValuePairs
          columns={3}
          minColumnWidth={220}
          items={[
            {
              type: "pair",
              label: "Peaks of the next 30 minutes",
              value:
                peaks.length === 0
                  ? "none"
                  : peaks.map((peak) => (
                      <div key={peak.at}>
                        {peak.at_least && "at least "}
                        {peak.runs.toLocaleString("en-GB")} runs, <Time at={peak.at} />
                      </div>
                    )),
            },
            {
              type: "pair",
              label: "Pollers",
              value:
                queues.length === 0
                  ? "none"
                  : queues.map((each) => (
                      <div key={each.queue}>
                        {each.queue}: {each.pollers === 0 ? "being removed" : each.pollers}
                        {each.pollers > 0 && (
                          <>
                            {" until "}
                            <Time at={each.until} />
                          </>
                        )}
                      </div>
                    )),
            },
            {
              type: "pair",
              label: "Cost of this day (UTC)",
              value: `${dollars(prescale.spent_today)} of ${dollars(prescale.dollars_per_day)}`,
            },
          ]}
        />
        {history.length > 0 && (
          <div>
            <Box variant="awsui-key-label">Last decisions</Box>
            {history.slice(0, 5).map((entry, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries have no ids
              <div key={row}>
                <Time at={entry.at} />: {entry.says} ({dollars(entry.dollars)})
              </div>
            ))}
          </div>
        )}
      </SpaceBetween>
    </Container>
  );
}
