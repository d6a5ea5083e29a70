import { useEffect, useState } from "react";
import { useZone } from "./clock";
import { HERE, inZone, relative, wall } from "./time";

/** An instant: the wall clock with its zone, and how far away it is. `-` where there is none. `brief`: only the
 * distance; `bare`: only the wall clock, without seconds that are zero, and with its zone if it is not the viewer's own.
 */
export function Time({
  at,
  zone: ofJob,
  brief = false,
  bare = false,
}: {
  at: string | null | undefined;
  /** Of its job; shown if the viewer has chosen no other (clock.ts). */
  zone?: string;
  brief?: boolean;
  bare?: boolean;
}) {
  const zone = useZone(ofJob);
  const now = useNow(at === null || at === undefined ? null : 10_000);
  if (at === null || at === undefined) return <>-</>;
  return (
    <time
      dateTime={at}
      title={`${inZone(at, zone)} (${inZone(at, "UTC")})`}
      className={brief || bare ? "nowrap" : undefined}
    >
      {bare
        ? (zone === HERE ? wall(at) : inZone(at, zone)).replace(/:00(?= |$)/, "")
        : brief
          ? relative(at, now)
          : `${wall(at, zone)} ${zone} (${relative(at, now)})`}
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
