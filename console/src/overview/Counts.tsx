import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Link from "@cloudscape-design/components/link";
import type { Schemas } from "../api/client";
import { counted, total } from "./outcomes";
import type { Coming } from "./useLoad";
import type { Unsuccessful } from "./useUnsuccessful";

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
    <Container>
      <ColumnLayout columns={4} minColumnWidth={140}>
        <Count label="Failed permanently in the last 24 hours" href={`#/runs?state=DEAD&since=${since}`}>
          {unsuccessful && counted(total(unsuccessful.hours, "DEAD"), unsuccessful.cut.DEAD)}
        </Count>
        <Count label="Retrying" href="#/runs?state=RETRYING">
          {unsuccessful && counted(total(unsuccessful.hours, "RETRYING"), unsuccessful.cut.RETRYING)}
        </Count>
        <Count label="Dead letters" href="#/dead-letters">
          {dead && counted(dead.count, dead.at_least)}
        </Count>
        <Count label="Paused jobs" href="#/jobs?state=PAUSED">
          {load && counted(load.paused, load.cut)}
        </Count>
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
