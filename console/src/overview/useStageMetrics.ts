import { api } from "../api/client";
import { useStage } from "../app/context";

/** Each request costs the stage money, and CloudWatch has new values after minutes only. */
const EVERY = 300_000;

/** What CloudWatch keeps of the stage, for those with the scope ops; nobody else asks. */
export function useStageMetrics() {
  const { session } = useStage();
  return api.useQuery(
    "get",
    "/v1/stage/metrics",
    {},
    { enabled: session.may("ops"), refetchInterval: EVERY, staleTime: EVERY },
  );
}
