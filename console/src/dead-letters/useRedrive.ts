import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { paced, type Refusal, type Send } from "./paced";
import { prepare, type Which } from "./sends";

export type Plan = { name: string } & Which;

export interface Redrive {
  /** `counting`, `ready` to begin or to go on, `running`, `done`. */
  phase: "counting" | "ready" | "running" | "done";
  /** How many there are, as far as they were counted; null while they are. */
  total: { count: number; least: boolean } | null;
  sent: number;
  refused: number;
  refusals: readonly Refusal[];
  error: unknown;
  begin(pace: number): void;
  stop(): void;
}

/** Counts a plan's runs, and redrives them at a pace until it is stopped or the page is left. */
export function useRedrive(plan: Plan): Redrive {
  const [phase, setPhase] = useState<Redrive["phase"]>("counting");
  const [total, setTotal] = useState<Redrive["total"]>(null);
  const [done, setDone] = useState({ sent: 0, refused: 0, refusals: [] as readonly Refusal[] });
  const [error, setError] = useState<unknown>(null);
  const stopping = useRef(new AbortController());
  const sending = useRef<Send>(null);
  const client = useQueryClient();

  useEffect(() => {
    const counting = new AbortController();
    prepare(plan, counting.signal)
      .then((prepared) => {
        if (counting.signal.aborted) return;
        sending.current = prepared.send;
        setTotal(prepared.total);
        setPhase("ready");
      })
      .catch((failure: unknown) => !counting.signal.aborted && setError(failure));
    return () => {
      counting.abort();
      stopping.current.abort();
    };
  }, [plan]);

  const begin = async (pace: number) => {
    if (sending.current === null) return;
    const stop = new AbortController();
    stopping.current = stop;
    setPhase("running");
    setError(null);
    try {
      await paced(sending.current, pace, stop.signal, (portion) => {
        setDone((before) => ({
          sent: before.sent + portion.sent,
          refused: before.refused + portion.refused,
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
    total,
    ...done,
    error,
    begin: (pace) => void begin(pace),
    stop: () => stopping.current.abort(),
  };
}
