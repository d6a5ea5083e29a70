import Box from "@cloudscape-design/components/box";
import Checkbox from "@cloudscape-design/components/checkbox";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { fetcher, type Schemas } from "../api/client";
import { paced, RUN } from "../api/polling";
import { ProblemBox } from "../shared/ProblemBox";
import { isCut, type Log, NOTHING_READ, readOn } from "./log";
import { isOver, type SingleRun } from "./strip";
import "./log.css";

/** The log of a run, which is read when the tab is opened, and followed until no lines can be added. */
export function LogTab({ run }: { run: SingleRun }) {
  const read = useRef<Log>(NOTHING_READ);
  const path = { run_id: run.id };
  const found = useQuery({
    // A run that has ended continues after a redrive.
    queryKey: ["run", run.id, "log", run.attempts, isOver(run)],
    queryFn: async ({ signal }) => {
      const page = async (after: string | null) => {
        const query = after === null ? {} : { after };
        const { data } = await fetcher.GET("/v1/runs/{run_id}/log", { params: { path, query }, signal });
        return data as Schemas["RunLog"];
      };
      read.current = await readOn(read.current, page);
      return read.current;
    },
    refetchInterval: ({ state: { data } }) =>
      data === undefined || (data.open && !isCut(data)) ? paced(RUN) : false,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const log = found.data;
  if (log === undefined) {
    if (found.error !== null) return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
    return (
      <Box>
        <Spinner /> Loading the log
      </Box>
    );
  }
  return (
    <SpaceBetween size="s">
      <ProblemBox error={found.error} retry={() => void found.refetch()} />
      {log.parts.length > 0 ? <Lines log={log} /> : <Nothing open={log.open} />}
    </SpaceBetween>
  );
}

function Nothing({ open }: { open: boolean }) {
  if (open) return <StatusIndicator type="pending">There are no lines yet.</StatusIndicator>;
  return (
    <Box>
      There is no log. A worker writes one with <code>run.log("…")</code>, and a Lambda target with{" "}
      <code>"log": true</code> keeps the end of its log.
    </Box>
  );
}

function Lines({ log }: { log: Log }) {
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLElement>(null);
  const follows = follow && log.open && !isCut(log);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls after each change of the text
  useEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [follows, log.characters]);
  return (
    <SpaceBetween size="xs">
      {log.open && !isCut(log) && (
        <Checkbox checked={follow} onChange={({ detail }) => setFollow(detail.checked)}>
          Scroll to new lines
        </Checkbox>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <section ref={box} className="pre log" aria-label="The log of the run" tabIndex={0}>
        {log.parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end
          <div key={index}>
            {(log.parts.length > 1 || part.attempt > 1) && (
              <Box variant="h4" tagOverride="h3">
                Attempt {part.attempt}
              </Box>
            )}
            <div className="text">{part.text}</div>
          </div>
        ))}
      </section>
      {isCut(log) && (
        <StatusIndicator type="warning">
          The log is longer. Read all of it with the command duecourse runs logs.
        </StatusIndicator>
      )}
    </SpaceBetween>
  );
}
