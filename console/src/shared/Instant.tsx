import { useEffect, useState } from "react";
import { useClock, useZone } from "./clock";
import { inZone, marked, relative, wall } from "./time";

/** An instant: the wall clock with its zone, and how far away it is. `-` where there is none. `brief`: only the
 * distance; `bare`: only the wall clock, without seconds that are zero, beneath a header that names the zone.
 */
export function Time({
  at,
  zone: ofJob,
  brief = false,
  bare = false,
  mixed = false,
}: {
  at: string | null | undefined;
  /** Of its job; shown if the viewer has chosen no other (clock.ts). */
  zone?: string;
  brief?: boolean;
  bare?: boolean;
  /** Other times beneath the same header may be in other zones: the cell names its zone, if it is not the viewer's. */
  mixed?: boolean;
}) {
  const zone = useZone(ofJob);
  const clock = useClock();
  const now = useNow(at === null || at === undefined ? null : 10_000);
  if (at === null || at === undefined) return <>-</>;
  return (
    <time
      dateTime={at}
      title={`${inZone(at, zone)} (${inZone(at, "UTC")})`}
      className={brief || bare ? "nowrap" : undefined}
    >
      {bare
        ? mixed && clock === "job"
          ? marked(at, zone)
          : wall(at, zone).replace(/(:\d\d):00$/, "$1")
        : brief
          ? relative(at, now)
          : `${wall(at, zone)} ${zone} (${relative(at, now)})`}
    </time>
  );
}

/** The current time, updated at this interval (ms); null: not updated. */
export function useNow(every: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (every === null) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
