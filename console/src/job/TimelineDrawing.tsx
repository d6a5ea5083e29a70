import "../shared/colors.css";
import { useEffect, useRef, useState } from "react";
import { KINDS, type Kind } from "./occurrences";
import type { Layout, Mark } from "./timeline";
import { useRoving } from "./useRoving";

const ROW = 24;
const LABEL = 118;
const SIZE = 5;
/** The least between two marks. */
const ROOM = 8;
/** A colour and a shape for each kind, drawn around 0, 0. */
export const LOOKS: Record<Kind, { color: string; path: string; hollow?: boolean }> = {
  ran: { color: "var(--dc-success)", path: circle(SIZE) },
  late: { color: "var(--dc-warning)", path: `M0 ${-SIZE} L${SIZE} ${SIZE} L${-SIZE} ${SIZE} Z` },
  failed: {
    color: "var(--dc-error)",
    path: `M0 ${-SIZE - 2} L${SIZE + 2} 0 L0 ${SIZE + 2} L${-SIZE - 2} 0 Z`,
  },
  "in progress": { color: "var(--dc-info)", path: circle(SIZE) },
  skipped: { color: "var(--dc-inactive)", path: square(SIZE - 0.5), hollow: true },
  cancelled: { color: "var(--dc-inactive)", path: square(SIZE - 0.5) },
  upcoming: { color: "var(--dc-info)", path: circle(SIZE - 0.5), hollow: true },
  "without a record": { color: "var(--dc-warning)", path: circle(SIZE - 0.5), hollow: true },
};

/** A row for each day (or hour); each mark is a link with a label. One of them is reached by the tab key,
 * the others from there by the arrows.
 */
export function Timeline({
  layoutFor,
  label,
  addressOf,
}: {
  /** With room for so many places. */
  layoutFor(places: number): Layout;
  label: string;
  addressOf(mark: Mark): string;
}) {
  const [width, place] = useWidth();
  const inner = Math.max(width - LABEL - 2 * SIZE, 1);
  const layout = layoutFor(inner / ROOM);
  const latest = layout.marks.findLastIndex((mark) => mark.kind !== "upcoming");
  const { current, choose, onKeyDown } = useRoving(layout.marks.length, latest);
  const height = (layout.rows.length + 1) * ROW;
  const x = (place: number) => LABEL + SIZE + (place + layout.step / 2) * inner;
  const y = (row: number) => (row + 1) * ROW + ROW / 2;
  return (
    <div ref={place}>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fieldset */}
      <svg
        width={width}
        height={height}
        role="group"
        aria-label={label}
        onKeyDown={onKeyDown}
        style={{ display: "block" }}
      >
        {layout.ticks.map((tick) => (
          <text key={tick.text} x={x(tick.place) - SIZE} y={ROW / 2 + 4} fontSize={12} fill="currentColor">
            {tick.text}
          </text>
        ))}
        {layout.rows.map((row, index) => (
          <g key={row}>
            <text x={0} y={y(index) + 4} fontSize={12} fill="currentColor">
              {row}
            </text>
            <line x1={LABEL} x2={width} y1={y(index)} y2={y(index)} style={{ stroke: "var(--dc-line)" }} />
          </g>
        ))}
        {layout.marks.map((mark, index) => (
          <a
            key={`${mark.row} ${mark.place}`}
            href={addressOf(mark)}
            aria-label={mark.text}
            tabIndex={index === current ? 0 : -1}
            onFocus={() => choose(index)}
          >
            <title>{mark.text}</title>
            <g transform={`translate(${x(mark.place)} ${y(mark.row)})`}>
              <rect x={-SIZE - 2} y={-ROW / 2} width={2 * SIZE + 4} height={ROW} fill="transparent" />
              <Shape kind={mark.kind} />
            </g>
          </a>
        ))}
      </svg>
    </div>
  );
}

export function Shape({ kind }: { kind: Kind }) {
  const { color, path, hollow } = LOOKS[kind];
  return <path d={path} style={{ fill: hollow ? "transparent" : color, stroke: color, strokeWidth: 1.5 }} />;
}

/** The legend of the shapes. */
export function Legend({ kinds = KINDS }: { kinds?: readonly Kind[] }) {
  return (
    <div style={{ display: "flex", flexWrap: "wrap", gap: "4px 16px" }}>
      {kinds.map((kind) => (
        <span key={kind} className="nowrap">
          <svg
            width={16}
            height={16}
            viewBox="-8 -8 16 16"
            aria-hidden="true"
            style={{ verticalAlign: "middle" }}
          >
            <Shape kind={kind} />
          </svg>{" "}
          {kind}
        </span>
      ))}
    </div>
  );
}

/** The width of an element, as it changes. */
function useWidth(): [number, React.RefObject<HTMLDivElement | null>] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [width, place];
}

function circle(radius: number): string {
  return `M${-radius} 0 A${radius} ${radius} 0 1 0 ${radius} 0 A${radius} ${radius} 0 1 0 ${-radius} 0 Z`;
}

function square(half: number): string {
  return `M${-half} ${-half} H${half} V${half} H${-half} Z`;
}
