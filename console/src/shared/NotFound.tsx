import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";

/** The content of a page whose job, run or workflow does not exist. */
export function NotFound({ what, list }: { what: string; list?: { href: string; text: string } }) {
  return (
    <SpaceBetween size="m">
      <Header variant="h1">{what} not found</Header>
      <Box>
        It may have been deleted, or the address is wrong.{" "}
        <Link href={list?.href ?? "#/"}>{list?.text ?? "Overview"}</Link>
      </Box>
    </SpaceBetween>
  );
}
