import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { Bars } from "../shared/Bars";
import { useZone } from "../shared/clock";
import { useNow } from "../shared/Instant";
import { wall } from "../shared/time";
import { type ByHour, hoursOf, hourText, total } from "./hours";
import { FRESH } from "./problems";

const ENDS = [
  { end: "succeeded", said: "succeeded", color: "var(--dc-success)" },
  { end: "dead", said: "failed permanently", color: "var(--dc-error)" },
] as const;

/** How many runs succeeded and failed in each of the last 24 hours. `failed`: the last read failed. */
export function HoursBox({ found, failed }: { found: ByHour | undefined; failed: boolean }) {
  return (
    <Container
      header={
        <Header variant="h2" description="Approximate numbers of runs, a minute or more behind.">
          Last 24 hours
        </Header>
      }
    >
      <div className="hours">
        {found === undefined && !failed && <StatusIndicator type="loading">Loading</StatusIndicator>}
        {found === undefined && failed && <StatusIndicator type="pending">Not known</StatusIndicator>}
        {found?.items.length === 0 && <Box color="text-body-secondary">No runs have been counted.</Box>}
        {found !== undefined && found.items.length > 0 && <Hours found={found} failed={failed} />}
      </div>
    </Container>
  );
}

function Hours({ found, failed }: { found: ByHour; failed: boolean }) {
  const zone = useZone();
  const now = useNow(60_000);
  const old = failed || now - Date.parse(found.as_of) > FRESH;
  const clock = (at: string) => wall(at, zone).slice(5, 16);
  return (
    <>
      <Bars
        label="Runs that succeeded or failed permanently, by hour"
        ticks={4}
        bars={hoursOf(found).map((hour) => ({
          at: hour.at,
          parts: ENDS.map(({ end, color }) => ({ count: hour.counts?.[end] ?? 0, color })),
          text: hourText(hour),
          unknown: hour.counts === undefined,
        }))}
      />
      <Box>
        {ENDS.map(({ end, said, color }, place) => (
          <span key={end}>
            {place > 0 && ", "}
            <span className="key" style={{ background: color }} />
            {total(found, end).toLocaleString("en-GB")} {said}
          </span>
        ))}
      </Box>
      {old ? (
        <StatusIndicator type="pending">Not up to date: as of {clock(found.as_of)}</StatusIndicator>
      ) : (
        found.counted_from !== null &&
        found.counted_from > found.since && (
          <Box color="text-body-secondary">Counted since {clock(found.counted_from)}</Box>
        )
      )}
    </>
  );
}
