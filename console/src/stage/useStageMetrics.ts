import { api } from "../api/client";
import { useStage } from "../app/context";

/** Each request costs the stage money, and CloudWatch has new values after minutes only. */
const EVERY = 300_000;

/** The CloudWatch metrics of the stage, requested only with the scope ops. */
export function useStageMetrics() {
  const { session } = useStage();
  return api.useQuery(
    "get",
    "/v1/stage/metrics",
    {},
    { enabled: session.may("ops"), refetchInterval: EVERY, staleTime: EVERY },
  );
}
