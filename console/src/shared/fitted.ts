interface Sized {
  id?: string;
  width: number;
  grow?: number;
}

/** The widths of columns (px, by id): the needed width of each, and its share of the remaining space. */
export function fitted(columns: readonly Sized[], room: number): Map<string | undefined, number> {
  const spare = Math.max(0, room - columns.reduce((all, each) => all + each.width, 0));
  const shares = columns.reduce((all, each) => all + (each.grow ?? 0), 0);
  return new Map(
    columns.map(({ id, width, grow = 0 }) => [
      id,
      width + (shares === 0 ? 0 : Math.floor((spare * grow) / shares)),
    ]),
  );
}

/** The columns without the spare ones, from the last, for which there is no room. */
export function fitting<Column extends Sized & { spare?: boolean }>(
  columns: readonly Column[],
  room: number,
): Column[] {
  const kept = [...columns];
  const wide = () => kept.reduce((all, each) => all + each.width, 0) > room;
  for (let place = kept.length - 1; place >= 0 && wide(); place -= 1) {
    if (kept[place]?.spare) kept.splice(place, 1);
  }
  return kept;
}
