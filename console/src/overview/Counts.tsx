import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import { api, type Schemas } from "../api/client";
import { counted, total } from "./outcomes";
import type { Unsuccessful } from "./useUnsuccessful";

const EVERY = 60_000;
/** More of them are counted as "at least". */
const PAGE = 20;

/** What somebody may have to look at: each number is a link to what it counts. */
export function Counts({
  dead,
  unsuccessful,
}: {
  dead: Schemas["DeadCount"] | undefined;
  unsuccessful: Unsuccessful | undefined;
}) {
  const params = { query: { state: "PAUSED" as const, limit: PAGE } };
  const paused = api.useQuery("get", "/v1/jobs", { params }, { refetchInterval: EVERY }).data;
  const since = encodeURIComponent(unsuccessful?.since ?? "");
  return (
    <Container header={<Header variant="h2">To look at</Header>}>
      <ColumnLayout columns={4} minColumnWidth={140}>
        <Count label="Failed for good in the last 24 hours" href={`#/runs?state=DEAD&since=${since}`}>
          {unsuccessful && counted(total(unsuccessful.hours, "DEAD"), unsuccessful.cut)}
        </Count>
        <Count label="Retrying" href="#/runs?state=RETRYING">
          {unsuccessful && counted(total(unsuccessful.hours, "RETRYING"), unsuccessful.cut)}
        </Count>
        <Count label="Dead letters" href="#/dead-letters">
          {dead && counted(dead.count, dead.at_least)}
        </Count>
        <Count label="Paused jobs" href="#/jobs?state=PAUSED">
          {paused && counted(paused.items.length, paused.next_cursor !== null)}
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
