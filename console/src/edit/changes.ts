import { type Doc, isDoc, type Json, type Path, same, valueAt, withValue } from "./document";

export interface Change {
  path: Path;
  /** Undefined: the field is not there. */
  before: Json | undefined;
  after: Json | undefined;
}

/** Which fields differ; lists are one value each. */
export function changesOf(before: Doc, after: Doc, path: Path = []): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [one, other] = [valueAt(before, [name]), valueAt(after, [name])];
    if (same(one, other)) return [];
    const place = [...path, name];
    // Another kind of target is another target, and not a change of each of its fields.
    const inside = isDoc(one) && isDoc(other) && one.type === other.type;
    return inside ? changesOf(one, other, place) : [{ path: place, before: one, after: other }];
  });
}

/** The changes made to another document. */
export function changed(doc: Doc, changes: readonly Change[]): Doc {
  return changes.reduce((result, { path, after }) => withValue(result, path, after), doc);
}

/** Of `mine`, those at the same place as one of `theirs`. */
export function conflicts(mine: readonly Change[], theirs: readonly Change[]): Change[] {
  return mine.filter((one) =>
    theirs.some((other) => {
      const length = Math.min(one.path.length, other.path.length);
      return same([...one.path.slice(0, length)], [...other.path.slice(0, length)]);
    }),
  );
}
