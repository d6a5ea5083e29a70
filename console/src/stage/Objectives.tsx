import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { type Figures, percent } from "./metrics";

const OBJECTIVES = {
  lateness: "runs should start within 5 s",
  availability: "API requests should succeed",
} as const;

/** How far the objectives of the stage were met. */
export function Objectives({ objectives }: { objectives: Figures["objectives"] }) {
  return (
    <section aria-label="Objectives">
      <Header variant="h3">Objectives</Header>
      {objectives.map(({ name, target, share, budget_used }) => (
        <div key={name}>
          <StatusIndicator type={budget_used === null ? "pending" : budget_used > 1 ? "warning" : "success"}>
            {percent(target)} of {OBJECTIVES[name]}:{" "}
            {share === null || budget_used === null
              ? "no data yet"
              : `${percent(share)} (${percent(budget_used, 0)} of the error budget used)`}
          </StatusIndicator>
        </div>
      ))}
    </section>
  );
}
