import "./colors.css";
import "./bars.css";
import { useZone } from "./clock";
import { wall } from "./time";

export interface Bar {
  at: Date;
  /** From the bottom up. */
  parts: readonly { count: number; color: string }[];
  /** Its meaning in words. */
  text: string;
  /** Nothing is known of its time: it is hatched, so that it does not look like zero. */
  unknown?: boolean;
}

const TICKS = 8;

const counted = (count: number) => count.toLocaleString("en-GB");

/** Numbers over time, as stacked bars. Cloudscape's own chart is a tenth of all that the first page may load. */
export function Bars({
  bars,
  label,
  written = counted,
  ticks = TICKS,
}: {
  bars: readonly Bar[];
  label: string;
  written?: (most: number) => string;
  /** The number of times below the bars. */
  ticks?: number;
}) {
  const zone = useZone();
  const most = Math.max(1, ...bars.map((bar) => sum(bar)));
  const every = Math.ceil(bars.length / ticks);
  return (
    <div className="bars" role="img" aria-label={`${label}; ${written(most)} at most`}>
      <div className="bars-most">{written(most)}</div>
      <div className="bars-plot">
        {bars.map((bar) => (
          <div
            key={bar.at.getTime()}
            className={bar.unknown ? "bars-bar bars-unknown" : "bars-bar"}
            title={`${clockTime(bar.at, zone)}: ${bar.text}`}
          >
            {bar.parts.map(({ count, color }) => (
              <div key={color} style={{ background: color, blockSize: `${(100 * count) / most}%` }} />
            ))}
          </div>
        ))}
      </div>
      <div className="bars-ticks">
        {bars
          .filter((_, place) => place % every === 0)
          .map((bar) => (
            <div key={bar.at.getTime()}>{clockTime(bar.at, zone)}</div>
          ))}
      </div>
      <div className="bars-zone">{zone}</div>
    </div>
  );
}

function sum(bar: Bar): number {
  return bar.parts.reduce((all, part) => all + part.count, 0);
}

/** `14:30`, and at midnight the date. */
function clockTime(at: Date, zone: string): string {
  const shown = wall(at, zone);
  return shown.slice(11, 16) === "00:00" ? shown.slice(5, 10) : shown.slice(11, 16);
}
