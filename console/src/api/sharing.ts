/** An answer with the parts of the one before that say the same, so that a page draws only what has changed. In place of
 * react-query's own function, which copies an object name by name and loses what people have named `__proto__`.
 */
export function sharing(before: unknown, after: unknown): unknown {
  if (Object.is(before, after)) return before;
  if (Array.isArray(before) && Array.isArray(after)) {
    const made = after.map((each, index) => sharing(before[index], each));
    const equal =
      made.length === before.length && made.every((each, index) => Object.is(each, before[index]));
    return equal ? before : made;
  }
  if (!isPlain(before) || !isPlain(after)) return after;
  const made = Object.entries(after).map(([name, each]): [string, unknown] => [
    name,
    Object.hasOwn(before, name) ? sharing(before[name], each) : each,
  ]);
  const equal =
    made.length === Object.keys(before).length &&
    made.every(([name, each]) => Object.hasOwn(before, name) && Object.is(each, before[name]));
  return equal ? before : Object.fromEntries(made);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
