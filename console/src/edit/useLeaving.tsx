import { type ReactNode, useEffect } from "react";
import { useConfirm } from "../shared/useConfirm";

/** Requires a confirmation before a link leaves the page or the tab closes, while something is unsaved. The browser's
 * Back button does not need a confirmation: the input is kept in the tab.
 */
export function useLeaving(unsaved: boolean, tabToo: boolean): ReactNode {
  const { ask, modal } = useConfirm();
  useEffect(() => {
    if (!unsaved) return;
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
      if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      ask({
        header: "Leave without saving?",
        text: "Your input is kept in this tab until you save it or start over.",
        action: "Leave",
        run: async () => {
          location.hash = link.getAttribute("href") ?? "";
        },
      });
    };
    const close = (event: BeforeUnloadEvent) => {
      if (tabToo) event.preventDefault();
    };
    document.addEventListener("click", follow, { capture: true });
    window.addEventListener("beforeunload", close);
    return () => {
      document.removeEventListener("click", follow, { capture: true });
      window.removeEventListener("beforeunload", close);
    };
  }, [unsaved, tabToo, ask]);
  return modal;
}
