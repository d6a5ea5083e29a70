import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";

/** There is no such page, job, run, … */
export function NotFound({ what, list }: { what: string; list?: { href: string; text: string } }) {
  return (
    <SpaceBetween size="m">
      <Header variant="h1">There is no such {what}</Header>
      <Box>
        It may have been deleted, or the address is wrong.{" "}
        <Link href={list?.href ?? "#/"}>{list?.text ?? "Overview"}</Link>
      </Box>
    </SpaceBetween>
  );
}
