import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import type { Named } from "./load";
import { counted, total } from "./outcomes";
import type { Coming } from "./useLoad";
import type { Unsuccessful } from "./useUnsuccessful";

const NAMED = 3;

/** Items that may need attention: each number is a link to the counted items. */
export function Counts({
  dead,
  unsuccessful,
  load,
}: {
  dead: Schemas["DeadCount"] | undefined;
  unsuccessful: Unsuccessful | undefined;
  load: Coming | undefined;
}) {
  const since = encodeURIComponent(unsuccessful?.since ?? "");
  return (
    <Container header={<Header variant="h2">Needs attention</Header>}>
      <ColumnLayout columns={3} minColumnWidth={140}>
        <Count label="Failed permanently in the last 24 hours" href={`#/runs?state=DEAD&since=${since}`}>
          {unsuccessful && counted(total(unsuccessful.hours, "DEAD"), unsuccessful.cut)}
        </Count>
        <Count label="Retrying" href="#/runs?state=RETRYING">
          {unsuccessful && counted(total(unsuccessful.hours, "RETRYING"), unsuccessful.cut)}
        </Count>
        <Count label="Dead letters" href="#/dead-letters">
          {dead && counted(dead.count, dead.at_least)}
        </Count>
        <Count label="Paused jobs" href="#/jobs?state=PAUSED">
          {load && counted(load.paused, load.cut)}
        </Count>
        <JobCount
          label="Late now"
          title="Jobs with a run that was due more than a minute ago and is not enqueued yet"
        >
          {load && { ...load.late, text: counted(load.late.count, load.cut) }}
        </JobCount>
        <JobCount
          label="Not firing"
          title="The cursors of these jobs are missing or quarantined. Edit the schedule, or pause and resume the job."
        >
          {load && { ...load.silent, text: counted(load.silent.count, load.cut) }}
        </JobCount>
      </ColumnLayout>
    </Container>
  );
}

function Count({ label, href, children }: { label: string; href: string; children: string | undefined }) {
  return (
    <div>
      <Box variant="awsui-key-label">{label}</Box>
      {children === undefined ? (
        <Box>-</Box>
      ) : (
        <Link href={href} fontSize="heading-l" ariaLabel={`${label}: ${children}`}>
          {children}
        </Link>
      )}
    </div>
  );
}

/** Jobs that no list can select: the first ones are linked. */
function JobCount({
  label,
  title,
  children: found,
}: {
  label: string;
  title: string;
  children: (Named & { text: string }) | undefined;
}) {
  return (
    <div title={title}>
      <Box variant="awsui-key-label">{label}</Box>
      <Box variant={found === undefined ? "span" : "h3"} tagOverride="div" padding="n">
        {found?.text ?? "-"}
      </Box>
      {found?.ids.slice(0, NAMED).map((id) => (
        <div key={id}>
          <Link href={to.job(id)}>{id}</Link>
        </div>
      ))}
      {found !== undefined && found.count > NAMED && <Box>and {found.count - NAMED} more</Box>}
    </div>
  );
}
