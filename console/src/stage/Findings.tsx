import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { Schemas } from "../api/client";
import { INDICATORS, sorted, summary } from "./findings";
import { Runbook } from "./Runbook";

/** The results of the checks of the stage, and the first remedy. */
export function Findings({ checks }: { checks: readonly Schemas["Check"][] | undefined }) {
  if (checks === undefined) {
    return (
      <Container header={<Header variant="h2">Findings</Header>}>
        <StatusIndicator type="loading">Loading</StatusIndicator>
      </Container>
    );
  }
  const { wrong, fine } = sorted(checks);
  return (
    <Container
      header={
        <Header variant="h2" description={summary(checks)}>
          Findings
        </Header>
      }
    >
      <SpaceBetween size="m">
        {wrong.length === 0 && <StatusIndicator type="success">No problems were found.</StatusIndicator>}
        {wrong.map((check) => (
          <Finding key={check.name} check={check} />
        ))}
        {fine.map((check) => (
          <Finding key={check.name} check={check} />
        ))}
      </SpaceBetween>
    </Container>
  );
}

function Finding({ check }: { check: Schemas["Check"] }) {
  return (
    <section aria-label={check.name}>
      <StatusIndicator type={INDICATORS[check.verdict] ?? "info"}>{check.name}</StatusIndicator>
      <Box>
        {/* The list of active alarms below has their texts. */}
        <span className="text">
          {check.name === "alarms" ? check.says.replace(/ are active: .*$/s, " are active") : check.says}
        </span>
      </Box>
      {check.do !== null && (
        <Box color="text-body-secondary">
          First step: <span className="text">{check.do}</span>
          {check.runbook !== null && <Runbooks pages={check.runbook} />}
        </Box>
      )}
    </section>
  );
}

/** A check of several alarms names several pages. */
function Runbooks({ pages }: { pages: string }) {
  return pages.split(", ").map((page) => (
    <span key={page}>
      {" "}
      <Runbook page={page} />
    </span>
  ));
}
