import type { ReactNode } from "react";

/** A text on so many lines at most; the rest is cut off and shown beneath the mouse. */
export function Lines({ text, most = 2, children }: { text: string; most?: number; children?: ReactNode }) {
  return (
    <div className="text lines" title={text} style={{ WebkitLineClamp: most }}>
      {children ?? text}
    </div>
  );
}
