import type { FlashbarProps } from "@cloudscape-design/components/flashbar";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { asProblem } from "../api/problem";

export interface Notices {
  items: FlashbarProps.MessageDefinition[];
  /** Something was done. */
  done(text: ReactNode): void;
  /** Something failed: what and why. */
  failed(what: string, error: unknown): void;
  /** Whatever else; with the same id it takes the place of the one before. */
  show(item: FlashbarProps.MessageDefinition & { id: string }): void;
  dismiss(id: string): void;
}

const Context = createContext<Notices | null>(null);

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [items, setItems] = useState<FlashbarProps.MessageDefinition[]>([]);
  const dismiss = useCallback((id: string) => setItems((all) => all.filter((each) => each.id !== id)), []);
  const show = useCallback(
    (item: FlashbarProps.MessageDefinition & { id: string }) =>
      setItems((all) => [
        { dismissible: true, dismissLabel: "Dismiss", onDismiss: () => dismiss(item.id), ...item },
        ...all.filter((each) => each.id !== item.id),
      ]),
    [dismiss],
  );
  const value = useMemo<Notices>(
    () => ({
      items,
      show,
      dismiss,
      done: (content) => show({ id: crypto.randomUUID(), type: "success", content }),
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
    [items, show, dismiss],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useNotices(): Notices {
  const notices = useContext(Context);
  if (notices === null) throw new Error("useNotices outside of the page");
  return notices;
}
