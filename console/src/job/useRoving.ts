import { type KeyboardEvent, useState } from "react";

const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Many links of which the tab key reaches one, and the arrows the others from there. `first` is reached first. */
export function useRoving(count: number, first: number) {
  const [chosen, choose] = useState<number | null>(null);
  const current = Math.min(chosen ?? Math.max(first, 0), count - 1);
  const onKeyDown = (event: KeyboardEvent<Element>) => {
    const by = STEPS[event.key];
    const links = event.currentTarget.querySelectorAll("a");
    if (by === undefined || links.length === 0) return;
    event.preventDefault();
    const next = Math.min(Math.max(current + by, 0), links.length - 1);
    choose(next);
    links[next]?.focus();
  };
  return { current, choose, onKeyDown };
}
