import Box from "@cloudscape-design/components/box";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { Change } from "./changes";
import { type Json, written } from "./document";

/** Fields with their values before and after. `marked` are those that another user changed, too. */
export function ChangesTable({
  changes,
  marked = [],
}: {
  changes: readonly Change[];
  marked?: readonly Change[];
}) {
  return (
    <Table
      variant="embedded"
      wrapLines
      trackBy={(change) => change.path.join("/")}
      items={[...changes]}
      ariaLabels={{ tableLabel: "Changes" }}
      columnDefinitions={[
        {
          id: "field",
          header: "Field",
          isRowHeader: true,
          cell: (change) => (
            <>
              <span className="text">{change.path.join(".")}</span>
              {marked.some((each) => each.path.join("/") === change.path.join("/")) && (
                <div>
                  <StatusIndicator type="warning">also changed by you</StatusIndicator>
                </div>
              )}
            </>
          ),
        },
        { id: "before", header: "Before", cell: (change) => <Value value={change.before} /> },
        { id: "after", header: "After", cell: (change) => <Value value={change.after} /> },
      ]}
      empty={<Box>No changes.</Box>}
    />
  );
}

function Value({ value }: { value: Json | undefined }) {
  if (value === undefined) return <>-</>;
  return <pre className="pre text">{typeof value === "string" ? value : written(value)}</pre>;
}
