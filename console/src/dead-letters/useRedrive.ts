import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { fetcher } from "../api/client";
import type { Choice } from "../operations/texts";
import { sendEach } from "./each";
import { paced, type Refusal } from "./paced";

/** Which dead runs: these, or all that a filter selects, in an operation. */
export type Plan = { name: string } & ({ runs: readonly string[] } | { choice: Choice });

export interface Redrive {
  /** `ready` to begin or to go on, `running`, `done`. */
  phase: "ready" | "running" | "done";
  sent: number;
  refusals: readonly Refusal[];
  error: unknown;
  begin(pace: number): void;
  stop(): void;
}

/** Redrives some runs at a pace until it is stopped or the page is left. */
export function useRedrive(runs: readonly string[]): Redrive {
  const [phase, setPhase] = useState<Redrive["phase"]>("ready");
  const [done, setDone] = useState({ sent: 0, refusals: [] as readonly Refusal[] });
  const [error, setError] = useState<unknown>(null);
  const stopping = useRef(new AbortController());
  const send = useMemo(
    () =>
      sendEach(runs, (run_id) => fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path: { run_id } } })),
    [runs],
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
