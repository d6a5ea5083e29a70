import { type Doc, isDoc } from "./document";

/** The steps that a document has so far, with what they come after: what is neither is left out. */
export function stepsOf(doc: Doc): { id: string; after: string[] }[] {
  if (!isDoc(doc.jobs)) return [];
  return Object.entries(doc.jobs).map(([id, step]) => {
    const after = isDoc(step) && Array.isArray(step.after) ? step.after : [];
    return { id, after: after.filter((each) => typeof each === "string") };
  });
}
