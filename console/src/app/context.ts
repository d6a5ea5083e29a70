import { createContext, useContext } from "react";
import type { Scope, Session } from "./session";
import type { Settings } from "./settings";

export interface StageContext {
  settings: Settings;
  session: Session;
}

export const Stage = createContext<StageContext | null>(null);

/** The stage and the current user. */
export function useStage(): StageContext {
  const stage = useContext(Stage);
  if (stage === null) throw new Error("useStage outside of the page");
  return stage;
}

/** Undefined where the caller may, else why a button does nothing (Cloudscape's `disabledReason`). */
export function useRefusal(scope: Scope): string | undefined {
  const { session } = useStage();
  return session.may(scope) ? undefined : `Your login lacks the ${scope} scope.`;
}
