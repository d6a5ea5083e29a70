/** What the stage says of itself: `console/settings.json`, written by the deployment (functions/console). */
export interface Settings {
  stage: string;
  version: string;
  region: string;
  auth: "none" | "oidc";
  issuer?: string;
  client_id?: string;
  scope?: string;
  docs_url: string | null;
  logs: Record<string, string | string[]>;
  traces: boolean;
}

/** Where the API stands: the page is `<API>/console`. */
export const API = new URL("./", document.baseURI);

/** Where the page itself stands, without what is looked at in it. */
export const PAGE = new URL(location.pathname, location.origin);

/** The page for who has logged out: it asks nobody to log in. */
export const LOGGED_OUT = `${PAGE.href}?logged-out`;

export async function loadSettings(): Promise<Settings> {
  const answer = await fetch(new URL("console/settings.json", API));
  if (!answer.ok) {
    throw new Error(
      `The settings of the stage could not be loaded (status ${answer.status}). Reload the page.`,
    );
  }
  return (await answer.json()) as Settings;
}
