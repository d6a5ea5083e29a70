/** The beginning of a long text. */
export function cut(text: string | null, most = 120): string {
  if (text === null) return "-";
  const letters = [...text.slice(0, 2 * most)]; // not through the middle of a letter
  return letters.length > most ? `${letters.slice(0, most).join("")}…` : text;
}
