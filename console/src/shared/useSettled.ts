import { useEffect, useState } from "react";

const PAUSE_MS = 300;

/** A text, once it has not changed for a while. */
export function useSettled(text: string, pause = PAUSE_MS): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pause);
    return () => clearTimeout(timer);
  }, [text, pause]);
  return settled;
}
