import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { to } from "../app/routes";
import { jobsText } from "../jobs/texts";
import type { Named } from "./load";
import { counted } from "./outcomes";
import type { useLoad } from "./useLoad";

const SHOWN = 5;

/** Jobs whose runs are overdue, and jobs that do not fire at all. */
export function LateBox({ load }: { load: ReturnType<typeof useLoad> }) {
  const found = load.data;
  const fine =
    load.error === null && found !== undefined && found.late.count === 0 && found.silent.count === 0;
  return (
    <Container header={<Header variant="h2">Overdue jobs</Header>}>
      {load.isPending && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {load.error !== null && (
        <StatusIndicator type="pending">Unknown: the jobs could not be read.</StatusIndicator>
      )}
      {fine && (
        <StatusIndicator type={found.cut ? "pending" : "success"}>
          {found.cut
            ? `Unknown: no overdue job is among the first ${jobsText(found.jobs)}. Further jobs were not read.`
            : "No job is overdue."}
        </StatusIndicator>
      )}
      {found !== undefined && (
        <>
          <Jobs
            label="Overdue now"
            effect="A run was due more than a minute ago and is not enqueued yet."
            named={found.late}
            cut={found.cut}
          />
          <Jobs
            label="Not firing"
            effect="The next occurrence of the job cannot be determined. Edit the schedule, or pause and resume the job."
            named={found.silent}
            cut={found.cut}
          />
        </>
      )}
    </Container>
  );
}

function Jobs({ label, effect, named, cut }: { label: string; effect: string; named: Named; cut: boolean }) {
  if (named.count === 0) return null;
  return (
    <section aria-label={label}>
      <StatusIndicator type="error">
        {label}: {counted(named.count, cut)}
      </StatusIndicator>
      <Box color="text-body-secondary">{effect}</Box>
      <ul className="entries">
        {named.ids.slice(0, SHOWN).map((id) => (
          <li key={id}>
            <div className="line">
              <Link href={to.job(id)}>{id}</Link>
            </div>
          </li>
        ))}
      </ul>
      {named.count > SHOWN && <Box>and {counted(named.count - SHOWN, cut)} more</Box>}
    </section>
  );
}
