import Box from "@cloudscape-design/components/box";
import type { Schemas } from "../api/client";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";

const FEW = 5;
const number = (value: number) => Math.round(value).toLocaleString("en");

const month = (runs: number | null, dollars: number | null) =>
  runs === null || dollars === null
    ? "too many runs to count"
    : `${number(runs)} runs ($${dollars.toFixed(4)})`;

/** What a change does to the next runs of a job in this zone. */
export function ScheduleChange({ change, zone: ofJob }: { change: Schemas["ScheduleChange"]; zone: string }) {
  const zone = useZone(ofJob);
  const { moved, added, removed, kept, first, runs_per_month: runs, dollars_per_month: dollars } = change;
  const counts = Object.entries({ moved, added, removed, kept }).filter(([, count]) => count > 0);
  const more = moved + added + removed - Math.min(first.length, FEW);
  const time = (at: string) => <Time at={at} zone={ofJob} bare />;
  return (
    <section aria-label="Changed runs">
      <Box>
        Runs until {time(change.until)} ({zone}):{" "}
        {counts.map(([what, count]) => `${number(count)} ${what}`).join(", ") || "none"}.
      </Box>
      <ul>
        {first.slice(0, FEW).map(({ before, after }) => (
          <li key={`${before} ${after}`}>
            {before === null ? "added: " : time(before)}
            {before !== null && (after === null ? " is removed" : " \u2192 ")}
            {after !== null && time(after)}
          </li>
        ))}
        {more > 0 && <li>and {number(more)} more</li>}
      </ul>
      <Box>
        A month, without the target: {month(runs.before, dollars.before)} → {month(runs.after, dollars.after)}
        .
      </Box>
    </section>
  );
}
