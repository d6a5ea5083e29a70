import Box from "@cloudscape-design/components/box";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData } from "@tanstack/react-query";
import { api, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { clockNote } from "../shared/clockNote";
import { useNow } from "../shared/Instant";
import { relative } from "../shared/time";
import { useSettled } from "../shared/useSettled";
import { type Doc, written } from "./document";
import { schedulesOf } from "./schedule";

const ASKED = [
  "schedule",
  "timezone",
  "dst_gap",
  "dst_fold",
  "anchor",
  "start",
  "end",
  "exclude",
  "calendar",
  "on_excluded",
];
const SHAPING = ["spread", "jitter_seconds", "max_runs"];

/** The meaning of the edited schedule, requested whenever the user pauses. */
export function usePreview(doc: Doc) {
  const asked = useSettled(written(Object.fromEntries(ASKED.flatMap((name) => entry(doc, name)))));
  const body = JSON.parse(asked) as Schemas["PreviewRequest"];
  return api.useQuery(
    "post",
    "/v1/schedules/preview",
    { body },
    {
      enabled: schedulesOf(body.schedule).length > 0,
      placeholderData: keepPreviousData,
      staleTime: 10_000,
      retry: (count, error) => count < 3 && asProblem(error).passes,
    },
  );
}

function entry(doc: Doc, name: string) {
  const value = doc[name];
  return value === undefined || value === null ? [] : [[name, value]];
}

/** The next occurrences, with the effects of daylight saving time. */
export function Preview({ doc, preview }: { doc: Doc; preview: ReturnType<typeof usePreview> }) {
  const now = useNow(10_000);
  if (schedulesOf(doc.schedule).length === 0) {
    return <Box color="text-body-secondary">The job runs only on demand.</Box>;
  }
  if (preview.isError) {
    const { status, title, detail } = asProblem(preview.error);
    return (
      <StatusIndicator type={status === 422 ? "warning" : "error"}>
        {status === 422
          ? "The next occurrences are shown when the schedule is valid."
          : `${title}. ${detail}`}
      </StatusIndicator>
    );
  }
  const found = preview.data;
  if (found === undefined)
    return <StatusIndicator type="loading">Loading the next occurrences</StatusIndicator>;
  const zone = String(doc.timezone ?? "UTC");
  const shaped = SHAPING.filter(
    (name) => !["", "0", "null", "undefined", "[]"].includes(written(doc[name] ?? null)),
  );
  return (
    <section aria-label="Next occurrences" aria-busy={preview.isPlaceholderData}>
      <Box variant="p" fontWeight="bold">
        <span className="text">Understood as: {found.understood_as}</span>
      </Box>
      {found.occurrences.length === 0 && (
        <StatusIndicator type="warning">The schedule has no future occurrences.</StatusIndicator>
      )}
      <ol>
        {found.occurrences.map((each) => {
          const note = clockNote(each, zone);
          return (
            <li key={`${each.at} ${each.wall}`}>
              {each.wall.slice(0, 19).replace("T", " ")} {each.wall.slice(19)} {zone}
              {each.at !== null && ` (${relative(each.at, now)})`}
              {note !== null && (
                <div>
                  <StatusIndicator
                    type={each.mark === "dropped" || each.mark === "excluded" ? "stopped" : "warning"}
                  >
                    {note}
                  </StatusIndicator>
                </div>
              )}
            </li>
          );
        })}
      </ol>
      {shaped.length > 0 && <Box variant="small">The preview ignores these fields: {shaped.join(", ")}.</Box>}
    </section>
  );
}
