import "./code.css";
import "../shared/colors.css";
import Textarea from "@cloudscape-design/components/textarea";
import { useRef } from "react";

const MOST_ROWS = 40;

/** A text with line numbers; those of lines with faults are marked. */
export function CodeArea({
  label,
  value,
  invalid,
  faults,
  onChange,
}: {
  label: string;
  value: string;
  invalid: boolean;
  /** The messages, by lines. */
  faults: ReadonlyMap<number, readonly string[]>;
  onChange(text: string): void;
}) {
  const numbers = useRef<HTMLDivElement>(null);
  const count = value.split("\n").length;
  const rows = Math.min(MOST_ROWS, Math.max(12, count + 1));
  return (
    <>
      <div
        className="code"
        onScrollCapture={({ target }) => {
          if (numbers.current && target instanceof HTMLTextAreaElement)
            numbers.current.scrollTop = target.scrollTop;
        }}
      >
        <div ref={numbers} className="code-numbers" aria-hidden="true">
          {Array.from({ length: count }, (_, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
            <div key={place} className={faults.has(place + 1) ? "code-fault" : undefined}>
              {place + 1}
            </div>
          ))}
        </div>
        <Textarea
          ariaLabel={label}
          value={value}
          onChange={({ detail }) => onChange(detail.value)}
          rows={rows}
          invalid={invalid}
          spellcheck={false}
        />
      </div>
      {[...faults].map(([line, messages]) => (
        <div key={line} className="text code-fault">
          Line {line}: {messages.join("; ")}
        </div>
      ))}
    </>
  );
}
