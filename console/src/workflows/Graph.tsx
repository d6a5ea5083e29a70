import "@xyflow/react/dist/style.css";
import "../shared/colors.css";
import "./graph.css";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { Background, Controls, Handle, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import { RunStatus } from "../shared/Status";
import { edges, NODE, type Step } from "./graph";
import { useLayout } from "./useLayout";

export interface GraphStep extends Step {
  /** Of a run; a workflow's jobs have none. */
  state?: string;
  /** None while it is edited. */
  href?: string;
  /** On the chain that took longest. */
  critical?: boolean;
}

interface JobNode extends Record<string, unknown> {
  step: GraphStep;
}

interface Shown {
  steps: readonly GraphStep[];
  label: string;
}

/** The steps of a workflow (1,024 at most), read only; each is a link. A table or the JSON has the same facts. */
export default function Graph({ steps, label }: Shown) {
  const places = useLayout(steps);
  if (places === null)
    return <StatusIndicator type="loading">Drawing the graph of {steps.length} steps</StatusIndicator>;
  if (places === "failed") return <p>The graph could not be drawn. The table or the JSON lists all steps.</p>;
  const nodes = steps.map((step) => ({
    id: step.id,
    type: "job",
    position: places.get(step.id) ?? { x: 0, y: 0 },
    ...NODE,
    data: { step },
  }));
  const critical = new Set(steps.filter((each) => each.critical).map((each) => each.id));
  const lines = edges(steps).map(({ from, to }) => {
    const thick = critical.has(from) && critical.has(to);
    return {
      id: `${from} ${to}`,
      source: from,
      target: to,
      style: { stroke: "currentColor", strokeWidth: thick ? 3 : 1 },
    };
  });
  return (
    <section aria-label={label} style={{ height: Math.min(420, 160 + steps.length * 30) }}>
      <ReactFlow
        nodes={nodes}
        edges={lines}
        nodeTypes={TYPES}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
        minZoom={0.05}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        preventScrolling={false}
        zoomOnScroll={false}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}

function Job({ data }: NodeProps) {
  const { step } = data as JobNode;
  return (
    <div
      style={{
        boxSizing: "border-box",
        ...NODE,
        padding: "6px 12px",
        borderRadius: 8,
        border: `${step.critical ? 3 : 1}px solid ${step.state === "DEAD" ? "var(--dc-error)" : "var(--dc-line)"}`,
        background: "var(--dc-ground)",
      }}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} style={{ visibility: "hidden" }} />
      {step.href === undefined ? (
        step.id
      ) : (
        <a className="nodrag nopan" href={step.href} style={{ pointerEvents: "all", color: "inherit" }}>
          {step.id}
        </a>
      )}
      {step.state !== undefined && (
        <div>
          <RunStatus state={step.state} />
        </div>
      )}
      <Handle
        type="source"
        position={Position.Right}
        isConnectable={false}
        style={{ visibility: "hidden" }}
      />
    </div>
  );
}

const TYPES = { job: Job };
