/** The settings of the stage: `console/settings.json`, written by the deployment (functions/console). */
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
  /** Whether the stage has an operator tenant, whose operators see all tenants. Missing in older stages. */
  operator_view?: boolean;
}

// A gateway may serve the page at `<API>/console/`, too. All addresses are relative to `<API>/console`.
if (location.pathname.endsWith("/")) {
  history.replaceState(
    history.state,
    "",
    location.pathname.replace(/\/+$/, "") + location.search + location.hash,
  );
}

/** The address of the API: the page is `<API>/console`. */
export const API = new URL("./", document.baseURI);

/** The address of the page, without its route. */
export const PAGE = new URL(location.pathname, location.origin);

/** The address of the page after a logout, which does not start a login. */
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
