import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Filters } from "./filter";

const EVERY = 60_000;

/** How many of all jobs match, such as `29 of 355`; undefined until it is known. A count reads all jobs, so it is not
 * repeated as often as the list.
 */
export function useTotal(filters: Filters): string | undefined {
  const filtered = Object.keys(filters).length > 0;
  const stats = api.useQuery("get", "/v1/stats", {}, { refetchInterval: EVERY });
  const query = { ...filters, limit: 1, total: "true" } as { limit: number };
  const found = api.useQuery(
    "get",
    "/v1/jobs",
    { params: { query } },
    { enabled: filtered, refetchInterval: EVERY, placeholderData: keepPreviousData },
  );
  const all = stats.data?.jobs.count;
  if (!filtered) return all?.toLocaleString("en-GB");
  const total = found.data?.total;
  if (!total || all === undefined) return undefined;
  // A job may have been created since the number of all jobs was read.
  const [matching, of] = [total.matching, Math.max(all, total.matching)].map((n) =>
    n.toLocaleString("en-GB"),
  );
  return `${total.complete ? "" : "at least "}${matching} of ${of}`;
}
