import type { User, UserManager } from "oidc-client-ts";
import { claimsOf, scopesOf, text } from "./claims";
import { LOGGED_OUT, PAGE, type Settings } from "./settings";
import { single } from "./single";

export type Scope = "jobs:read" | "jobs:write" | "ops";

/** The current user and their permissions. */
export interface Session {
  /** The access token, renewed before it expires; null if the stage requires no login. */
  token(): Promise<string | null>;
  /** The user who is logged in; null if the stage requires no login. */
  name: string | null;
  tenant: string | null;
  scopes: readonly string[];
  may(scope: Scope): boolean;
  /** Opens the issuer's login page, and returns to the current page afterwards. */
  login(): Promise<void>;
  logout(): Promise<void>;
}

const NO_LOGIN: Session = {
  token: async () => null,
  name: null,
  tenant: null,
  scopes: ["jobs:read", "jobs:write", "ops"],
  may: () => true,
  login: async () => {},
  logout: async () => {},
};

/** The session, or null while the browser is on its way to the issuer. */
export async function begin(settings: Settings): Promise<Session | null> {
  if (settings.auth === "none") return NO_LOGIN;
  const { UserManager, WebStorageStateStore } = await import("oidc-client-ts");
  const users = new UserManager({
    authority: settings.issuer ?? "",
    client_id: settings.client_id ?? "",
    redirect_uri: PAGE.href,
    post_logout_redirect_uri: PAGE.href,
    scope: settings.scope ?? "openid",
    response_type: "code",
    automaticSilentRenew: true,
    // Tokens, and the state and the verifier (PKCE) of a login in progress, are kept in this tab only.
    userStore: new WebStorageStateStore({ store: sessionStorage }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
  });
  const leave = () => users.signinRedirect({ state: location.hash });
  const answer = new URLSearchParams(location.search);
  if (answer.has("state") && (answer.has("code") || answer.has("error"))) {
    const user = await users.signinCallback();
    history.replaceState(null, "", PAGE.pathname + (typeof user?.state === "string" ? user.state : ""));
  }
  const user = await users.getUser();
  if (user === null || (user.expired && !user.refresh_token)) {
    await leave();
    return null;
  }
  return session(users, user, leave);
}

function session(users: UserManager, first: User, leave: () => Promise<void>): Session {
  const claims = claimsOf(first.access_token);
  const scopes = scopesOf(claims);
  // A refresh token may be good for one use: the requests of a page share it.
  const renew = single(() => users.signinSilent().catch(() => null));
  return {
    async token() {
      const user = await users.getUser();
      // A token that cannot be renewed is still sent: the API rejects it, and the page shows the remedy.
      const renewed = user?.expired && user.refresh_token ? await renew() : null;
      return (renewed ?? user)?.access_token ?? null;
    },
    name: text(claims.email) ?? text(claims.username) ?? text(claims.sub),
    tenant: text(claims.tenant),
    scopes,
    may: (scope) => scopes.some((each) => each === scope || each.startsWith(`${scope}:`)),
    login: leave,
    async logout() {
      await users.removeUser();
      // Cognito has names of its own for what OpenID Connect RP-Initiated Logout 1.0 calls post_logout_redirect_uri.
      const extraQueryParams = { client_id: users.settings.client_id, logout_uri: PAGE.href };
      await users.signoutRedirect({ extraQueryParams }).catch(() => {
        // An issuer without an address for it would log in again at once.
        location.assign(LOGGED_OUT);
      });
    },
  };
}
