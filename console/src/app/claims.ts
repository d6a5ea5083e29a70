/** The claims of a token, for show only: the API checks them. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const middle = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(middle), (each) => each.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The scopes as the API reads them: `scope` with spaces between, or a list `scp`; a prefix `duecourse/` is dropped. */
export function scopesOf(claims: Record<string, unknown>): string[] {
  const said = claims.scope ?? claims.scp ?? "";
  const all = Array.isArray(said) ? said.map(String) : String(said).split(" ");
  return all.map((each) => each.replace(/^duecourse\//, "")).filter((each) => /^(jobs:|ops)/.test(each));
}

/** A text that is not empty, or null. */
export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
