import "@xyflow/react/dist/style.css";
import "../shared/colors.css";
import "./graph.css";
import Button from "@cloudscape-design/components/button";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MiniMap,
  type Node,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from "@xyflow/react";
import { useState } from "react";
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
  /** Whether the user searches for it. */
  found: boolean;
}
type FlowNode = Node<JobNode>;

/** Texts are legible from this zoom on. */
const READABLE = 0.6;
/** From so many steps on there is a search, and a map. */
const FEW = 12;
const MANY = 30;

/** Moves to a step, at a legible size. */
function show(graph: ReactFlowInstance<FlowNode, Edge>, id: string): void {
  const node = graph.getNode(id);
  if (node === undefined) return;
  const { x, y } = node.position;
  void graph.setCenter(x + NODE.width, y + NODE.height / 2, { zoom: 0.9 });
}

interface Shown {
  steps: readonly GraphStep[];
  label: string;
}

/** The steps of a workflow (1,024 at most), read only; each is a link. A table or the JSON has the same facts. */
export default function Graph({ steps, label }: Shown) {
  const places = useLayout(steps);
  const [graph, setGraph] = useState<ReactFlowInstance<FlowNode, Edge> | null>(null);
  const [found, find] = useState("");
  if (places === null)
    return <StatusIndicator type="loading">Drawing the graph of {steps.length} steps</StatusIndicator>;
  if (places === "failed") return <p>The graph could not be drawn. The table or the JSON lists all steps.</p>;
  const failure = steps.find(({ state }) => state === "DEAD");
  const nodes = steps.map((step) => ({
    id: step.id,
    type: "job",
    position: places.get(step.id) ?? { x: 0, y: 0 },
    ...NODE,
    data: { step, found: found !== "" && step.id.toLowerCase().includes(found.toLowerCase()) },
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
    <section
      aria-label={label}
      style={{ height: Math.min(steps.length > MANY ? 640 : 420, 160 + steps.length * 30) }}
    >
      <ReactFlow<FlowNode, Edge>
        onInit={(graph) => {
          setGraph(graph);
          // A graph that does not fit is shown in a part, the failure or the beginning, that can be read.
          if (graph.getZoom() < READABLE) show(graph, failure?.id ?? steps[0]?.id ?? "");
        }}
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
        {steps.length > MANY && <MiniMap pannable zoomable ariaLabel="The whole graph" />}
        {(steps.length > FEW || failure !== undefined) && (
          <Panel position="top-right">
            <SpaceBetween direction="horizontal" size="xs">
              {failure !== undefined && (
                <Button onClick={() => graph && show(graph, failure.id)}>Show the failure</Button>
              )}
              {steps.length > FEW && (
                <Input
                  type="search"
                  ariaLabel="Find a step"
                  placeholder="Find a step"
                  value={found}
                  onChange={({ detail: { value } }) => {
                    find(value);
                    const first = steps.find(({ id }) => id.toLowerCase().includes(value.toLowerCase()));
                    if (graph && value !== "" && first) show(graph, first.id);
                  }}
                />
              )}
            </SpaceBetween>
          </Panel>
        )}
      </ReactFlow>
    </section>
  );
}

function Job({ data }: NodeProps) {
  const { step, found } = data as JobNode;
  return (
    <div
      style={{
        boxSizing: "border-box",
        ...NODE,
        padding: "6px 12px",
        borderRadius: 8,
        border: `${step.critical ? 3 : 1}px solid ${step.state === "DEAD" ? "var(--dc-error)" : "var(--dc-line)"}`,
        background: "var(--dc-ground)",
        outline: found ? "3px solid var(--dc-info)" : undefined,
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
