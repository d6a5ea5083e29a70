import { type ComponentType, lazy } from "react";

const KEPT = "duecourse-reloaded";
/** The least time between two reloads without a break of the connection (ms). */
const LEAST = 60_000;

/** A part of the console that is loaded when it is shown. A browser remembers a file that it could not load, so the whole
 * page is loaded again: after a break of the connection when it is back, otherwise at once (a newer release has other
 * files), but not again and again. Unsaved edits are kept in the tab.
 */
export function loaded<Props>(load: () => Promise<{ default: ComponentType<Props> }>) {
  return lazy(() =>
    load().catch(async (error): Promise<{ default: ComponentType<Props> }> => {
      if (!navigator.onLine)
        await new Promise((resolve) => addEventListener("online", resolve, { once: true }));
      else if (Date.now() - Number(sessionStorage.getItem(KEPT)) < LEAST) throw error;
      sessionStorage.setItem(KEPT, String(Date.now()));
      location.reload();
      return new Promise(() => {});
    }),
  );
}
