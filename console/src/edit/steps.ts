import { type Doc, isDoc } from "./document";

/** The steps of an incomplete document, with their upstream steps. Invalid parts are omitted. */
export function stepsOf(doc: Doc): { id: string; after: string[] }[] {
  if (!isDoc(doc.jobs)) return [];
  return Object.entries(doc.jobs).map(([id, step]) => {
    const after = isDoc(step) && Array.isArray(step.after) ? step.after : [];
    return { id, after: after.filter((each) => typeof each === "string") };
  });
}
