import Box from "@cloudscape-design/components/box";
import "../shared/colors.css";
import { duration, wall } from "../shared/time";
import { type Kind, placeOf, type Strip } from "./strip";

const COLOURS: Record<Kind, string> = {
  queued: "var(--dc-inactive)",
  "in wait queue": "var(--dc-warning)",
  backoff: "var(--dc-line)",
  running: "var(--dc-info)",
  succeeded: "var(--dc-success)",
  failed: "var(--dc-error)",
  lost: "var(--dc-error)",
  cancelled: "var(--dc-inactive)",
};
/** The name of a bar. The names of the attempts' outcomes need no translation. */
const WORDS: Partial<Record<Kind, string>> = {
  queued: "waiting for a worker",
  "in wait queue": "in the wait queue",
  backoff: "waiting for the next attempt",
};

/** A run's attempts and waits on one time axis. The table below shows the same in words. */
export function StripChart({ strip, zone }: { strip: Strip; zone: string }) {
  const kinds = [...new Set(strip.rows.flatMap((row) => row.bars.map((bar) => bar.kind)))];
  const whole = duration((strip.until - strip.from) / 1000);
  return (
    <div
      role="img"
      aria-label={`The run's attempts and waits over ${whole}; the table below has the same data`}
    >
      {strip.left_out > 0 && (
        <Box color="text-body-secondary">
          {strip.left_out === 1 ? "The first attempt is" : `The first ${strip.left_out} attempts are`} not
          shown.
        </Box>
      )}
      {strip.rows.map((row) => (
        <div key={row.label} style={{ display: "flex", alignItems: "center", gap: 8, marginBlock: 4 }}>
          <div style={{ inlineSize: "7.5em", flexShrink: 0 }}>{row.label}</div>
          <div style={{ position: "relative", flexGrow: 1, blockSize: 20, background: TRACK }}>
            {row.bars.map((bar) => {
              const place = placeOf(bar, strip);
              const long = duration((bar.until - bar.from) / 1000);
              return (
                <div
                  key={bar.kind}
                  title={`${wall(new Date(bar.from), zone)} ${zone}: ${WORDS[bar.kind] ?? bar.kind}, ${long}`}
                  style={{
                    position: "absolute",
                    insetBlock: isWait(bar.kind) ? 7 : 0,
                    insetInlineStart: `${place.left}%`,
                    inlineSize: `${place.width}%`,
                    background: COLOURS[bar.kind],
                  }}
                />
              );
            })}
          </div>
        </div>
      ))}
      <div style={{ display: "flex", justifyContent: "space-between", paddingInlineStart: "8em", gap: 8 }}>
        <Box color="text-body-secondary">{wall(new Date(strip.from), zone)}</Box>
        <Box color="text-body-secondary">+ {whole}</Box>
      </div>
      <div style={{ display: "flex", flexWrap: "wrap", gap: 16, marginBlockStart: 8 }}>
        {kinds.map((kind) => (
          <span key={kind} style={{ display: "inline-flex", alignItems: "center", gap: 6 }}>
            <span style={{ inlineSize: 12, blockSize: isWait(kind) ? 6 : 12, background: COLOURS[kind] }} />
            {WORDS[kind] ?? kind}
          </span>
        ))}
      </div>
    </div>
  );
}

const TRACK = "color-mix(in srgb, currentColor 8%, transparent)";
const isWait = (kind: Kind) => kind in WORDS;
