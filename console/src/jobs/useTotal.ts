import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Filters } from "./filter";

const EVERY = 60_000;

/** How many jobs match, such as `29 of 355`; undefined until it is known. A count reads all jobs, so it is not repeated
 * as often as the list.
 */
export function useTotal(filters: Filters): string | undefined {
  const filtered = Object.keys(filters).length > 0;
  const stats = api.useQuery("get", "/v1/stats", {}, { enabled: !filtered, refetchInterval: EVERY });
  const query = { ...filters, limit: 1, total: "true" } as { limit: number };
  const found = api.useQuery(
    "get",
    "/v1/jobs",
    { params: { query } },
    { enabled: filtered, refetchInterval: EVERY, placeholderData: keepPreviousData },
  );
  if (!filtered) return stats.data?.jobs.count.toLocaleString("en-GB");
  const total = found.data?.total;
  if (!total) return undefined;
  const [matching, searched] = [total.matching, total.searched].map((each) => each.toLocaleString("en-GB"));
  return total.complete ? `${matching} of ${searched}` : `at least ${matching} of more than ${searched}`;
}
