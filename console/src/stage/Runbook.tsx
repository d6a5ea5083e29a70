import Link from "@cloudscape-design/components/link";
import { useStage } from "../app/context";

/** A link to a section of the documentation (`docs/runbooks.md#ticks-missing`), or its name where the documentation is
 * published nowhere.
 */
export function Runbook({ page }: { page: string }) {
  const { settings } = useStage();
  const section = page.includes("#") ? page.slice(page.lastIndexOf("#") + 1) : page;
  const published = /^https?:\/\//.test(page)
    ? page
    : settings.docs_url && `${settings.docs_url}/${page.replace(/^docs\//, "")}`;
  if (!published || !/^https?:\/\//.test(published)) return <code>{page}</code>;
  return (
    <Link href={published} external externalIconAriaLabel="Opens in a new tab">
      {section}
    </Link>
  );
}
