import { type ComponentType, createElement, lazy, useState } from "react";

const KEPT = "duecourse-reloaded";
/** The least time between two reloads without a break of the connection (ms). */
const LEAST = 60_000;

/** A part of the console that is loaded when it is shown, or before by `preload`. A browser remembers a file that it could
 * not load, so the whole page is loaded again: after a break of the connection when it is back, otherwise at once (a newer
 * release has other files), but not again and again. Unsaved edits are kept in the tab.
 */
export function loaded<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) {
  let known: ComponentType<Props> | undefined;
  const part = lazy(() =>
    load().catch(async (error): Promise<{ default: ComponentType<Props> }> => {
      if (!navigator.onLine)
        await new Promise((resolve) => addEventListener("online", resolve, { once: true }));
      else if (Date.now() - Number(sessionStorage.getItem(KEPT)) < LEAST) throw error;
      sessionStorage.setItem(KEPT, String(Date.now()));
      location.reload();
      return new Promise(() => {});
    }),
  );
  const show = (props: Props) => createElement(Chosen<Props>, { choose: () => known ?? part, props });
  /** Loads the part. A failure is reported when it is shown. */
  const preload = async () => {
    known = (await load().catch(() => undefined))?.default;
  };
  return Object.assign(show, { preload });
}

// React shows a fallback of a lazy component for at least 300 ms, even if its file is there. A component that is known is
// rendered directly. The choice is kept, because another component would lose the state of this one.
function Chosen<Props extends object>({
  choose,
  props,
}: {
  choose: () => ComponentType<Props>;
  props: Props;
}) {
  const [chosen] = useState<ComponentType<Props>>(choose);
  return createElement(chosen, props);
}
