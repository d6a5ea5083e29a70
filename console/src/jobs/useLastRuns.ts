import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";

const RUNS = 20;

/** The jobs with these ids, at most twenty, with their last runs. They are read together, and again only if the version
 * is another one: what changes when there are new runs.
 */
export function useLastRuns(ids: readonly string[], version: string) {
  return useQuery({
    queryKey: ["last runs", ids, version],
    enabled: ids.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, Schemas["Job"]>> => {
      const query = { ids: ids.join(","), limit: ids.length, runs: RUNS };
      const { data } = await fetcher.GET("/v1/jobs", { params: { query }, signal });
      return new Map(data?.items.map((each) => [each.id, each]));
    },
  });
}
