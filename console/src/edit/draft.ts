import type { Session } from "../app/session";
import { PAGE } from "../app/settings";
import type { Doc } from "./document";

/** The unsaved edit: the text of the JSON, and the last valid document. */
export interface Written {
  text: string;
  doc: Doc;
  /** Why the text is no document; null: it is. */
  syntax: string | null;
  /** Values of single fields that are not JSON, by their places. */
  broken: Record<string, string>;
}

/** The stored job that an edit began with. */
export interface Base {
  doc: Doc;
  etag: string;
}

export interface Draft {
  written: Written;
  base: Base | null;
  /** The key of the last create request, and its body. */
  sent: { key: string; body: string } | null;
  at: string;
}

/** The storage key of the unsaved edit of a job (null: a new job; of a copy: `(copy) <id>`), by stage and user. */
export const placeOf = ({ tenant, name }: Pick<Session, "tenant" | "name">, jobId: string | null): string =>
  `duecourse-draft ${PAGE.pathname} ${tenant ?? ""} ${name ?? ""} ${jobId ?? "(new)"}`;

export function draftAt(place: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export function keepDraft(place: string, draft: Draft | null): void {
  try {
    if (draft === null) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, JSON.stringify(draft));
  } catch {
    // Too large to be kept: leaving the page still requires a confirmation.
  }
}
