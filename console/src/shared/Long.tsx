import Popover from "@cloudscape-design/components/popover";
import type { ReactNode } from "react";

/** The longest text that a line can show. The browser does not need to lay out the rest. */
const MOST = 300;

/** A text in one line; a click shows all of it. `-` where there is none. */
export function Long({
  text,
  header,
  children,
}: {
  text: string | null;
  header: string;
  /** The content below the whole text. */
  children?: ReactNode;
}) {
  if (text === null || text === "") return <>-</>;
  const letters = [...text.slice(0, 2 * MOST)]; // not through the middle of a letter
  return (
    <Popover
      header={header}
      size="large"
      wrapTriggerText={false}
      renderWithPortal
      dismissAriaLabel="Close"
      content={
        <>
          <div className="pre text">{text}</div>
          {children}
        </>
      }
    >
      <span className="text">
        {letters.length > MOST ? `${letters.slice(0, MOST).join("")}…` : text.replace(/\s+/g, " ")}
      </span>
    </Popover>
  );
}
