import { useState } from "react";
import { fetcher } from "../api/client";
import { useNotices } from "../app/notices";
import { patiently } from "../shared/patiently";
import type { Job } from "./columns";
import type { Filters } from "./filter";

const PAGE = 100;

/** Selects all jobs that match, on all pages. `reading` is how many were read so far, while they are. */
export function useSelectAll(filters: Filters, select: (jobs: readonly Job[]) => void) {
  const notices = useNotices();
  const [reading, setReading] = useState<number | null>(null);
  const begin = async () => {
    const stop = new AbortController();
    const found: Job[] = [];
    let cursor: string | undefined;
    try {
      do {
        setReading(found.length);
        const query = { ...filters, limit: PAGE, cursor } as { limit: number };
        const ask = () => fetcher.GET("/v1/jobs", { params: { query }, signal: stop.signal });
        const { data } = await patiently(ask, stop.signal);
        found.push(...(data?.items ?? []));
        cursor = data?.next_cursor ?? undefined;
      } while (cursor !== undefined);
      select(found);
    } catch (error) {
      notices.failed("The jobs could not be selected", error);
    } finally {
      setReading(null);
    }
  };
  return { reading, begin: () => void begin() };
}
