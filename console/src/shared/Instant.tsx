import { useEffect, useState } from "react";
import { HERE, inZone, relative, wall } from "./time";

/** An instant: the wall clock with its zone, and how far away it is. `-` where there is none. */
export function Time({
  at,
  zone = HERE,
  brief = false,
}: {
  at: string | null | undefined;
  zone?: string;
  brief?: boolean;
}) {
  const now = useNow(at === null || at === undefined ? null : 10_000);
  if (at === null || at === undefined) return <>-</>;
  return (
    <time
      dateTime={at}
      title={`${inZone(at, zone)} (${inZone(at, "UTC")})`}
      className={brief ? "nowrap" : undefined}
    >
      {brief ? relative(at, now) : `${wall(at, zone)} ${zone} (${relative(at, now)})`}
    </time>
  );
}

/** The present, looked at again every so many milliseconds; null: once. */
export function useNow(every: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (every === null) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
