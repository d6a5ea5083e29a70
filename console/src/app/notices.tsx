import type { FlashbarProps } from "@cloudscape-design/components/flashbar";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { useLocation } from "react-router";
import { asProblem } from "../api/problem";

export interface Notices {
  items: FlashbarProps.MessageDefinition[];
  /** Something was done: shown until another page is opened; with `next`, also on that page. */
  done(text: ReactNode, options?: { next?: boolean }): void;
  /** Shows a failure and its reason. */
  failed(what: string, error: unknown): void;
  /** Shows a notice; it replaces an earlier notice with the same id. */
  show(item: FlashbarProps.MessageDefinition & { id: string }): void;
  dismiss(id: string): void;
}

/** A notice, and on how many more pages it is shown. */
type Shown = readonly [item: FlashbarProps.MessageDefinition, pages: number];

const Context = createContext<Notices | null>(null);

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly Shown[]>([]);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page
  useEffect(
    () =>
      setShown((all) =>
        all.map(([item, pages]): Shown => [item, pages - 1]).filter(([, pages]) => pages >= 0),
      ),
    [pathname],
  );
  const dismiss = useCallback((id: string) => setShown((all) => all.filter(([item]) => item.id !== id)), []);
  const show = useCallback(
    (item: FlashbarProps.MessageDefinition & { id: string }, next = false) =>
      setShown((all) => [
        [
          { dismissible: true, dismissLabel: "Dismiss", onDismiss: () => dismiss(item.id), ...item },
          item.type === "success" ? Number(next) : Number.POSITIVE_INFINITY,
        ],
        ...all.filter(([each]) => each.id !== item.id),
      ]),
    [dismiss],
  );
  const value = useMemo<Notices>(
    () => ({
      items: shown.map(([item]) => item),
      show,
      dismiss,
      done: (content, { next } = {}) => show({ id: crypto.randomUUID(), type: "success", content }, next),
      failed: (what, error) => {
        const problem = asProblem(error);
        show({
          id: crypto.randomUUID(),
          type: "error",
          header: what,
          content: <span className="text">{[problem.title, problem.detail].filter(Boolean).join(": ")}</span>,
        });
      },
    }),
    [shown, show, dismiss],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useNotices(): Notices {
  const notices = useContext(Context);
  if (notices === null) throw new Error("useNotices outside of the page");
  return notices;
}
