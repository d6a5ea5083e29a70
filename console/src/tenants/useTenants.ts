import { api } from "../api/client";
import { useStage } from "../app/context";

/** The API answers with figures that are at most this old. */
const EVERY = 60_000;

/** All tenants, requested only by operators of a stage that shows them. Only their page reloads the list. */
export function useTenants({ live }: { live: boolean }) {
  const { session, settings } = useStage();
  return api.useQuery(
    "get",
    "/v1/tenants",
    {},
    {
      enabled: settings.operator_view === true && session.may("ops"),
      refetchInterval: live && EVERY,
      refetchOnWindowFocus: live,
      staleTime: EVERY,
    },
  );
}
