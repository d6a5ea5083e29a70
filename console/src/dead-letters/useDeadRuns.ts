import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { fetcher } from "../api/client";
import type { Choice } from "../operations/texts";
import { sendEach } from "./each";
import { paced, type Refusal } from "./paced";

/** What is done with dead runs. */
export type Kind = "redrive" | "discard";

/** Which dead runs: these, or all that a filter selects, in an operation. */
export type Plan = { kind: Kind; name: string } & ({ runs: readonly string[] } | { choice: Choice });

export interface Course {
  /** `ready` to begin or to go on, `running`, `done`. */
  phase: "ready" | "running" | "done";
  sent: number;
  refusals: readonly Refusal[];
  error: unknown;
  begin(pace: number): void;
  stop(): void;
}

/** Redrives or discards some runs at a pace until it is stopped or the page is left. `note` is that of a discard. */
export function useDeadRuns(kind: Kind, runs: readonly string[], note: string | null): Course {
  const [phase, setPhase] = useState<Course["phase"]>("ready");
  const [done, setDone] = useState({ sent: 0, refusals: [] as readonly Refusal[] });
  const [error, setError] = useState<unknown>(null);
  const stopping = useRef(new AbortController());
  const send = useMemo(
    () =>
      sendEach(runs, (run_id) =>
        kind === "redrive"
          ? fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path: { run_id } } })
          : fetcher.POST("/v1/runs/{run_id}/discard", { params: { path: { run_id } }, body: { note } }),
      ),
    [kind, runs, note],
  );
  const client = useQueryClient();

  useEffect(() => () => stopping.current.abort(), []);

  const begin = async (pace: number) => {
    const stop = new AbortController();
    stopping.current = stop;
    setPhase("running");
    setError(null);
    try {
      await paced(send, pace, stop.signal, (portion) => {
        setDone((before) => ({
          sent: before.sent + portion.sent,
          refusals: [...before.refusals, ...portion.refusals],
        }));
        if (!portion.more) setPhase("done");
      });
      if (stop.signal.aborted) setPhase((now) => (now === "done" ? now : "ready"));
    } catch (failure) {
      setError(failure);
      setPhase("ready");
    } finally {
      void client.invalidateQueries();
    }
  };
  return {
    phase,
    ...done,
    error,
    begin: (pace) => void begin(pace),
    stop: () => stopping.current.abort(),
  };
}
