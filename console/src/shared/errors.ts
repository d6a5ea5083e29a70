/** An error without the part that names the call: its address is a fact of the job, and its status is the code of the run.
 * Both hide what differs. Of a JSON object with a single text, such as `{"error": "no space"}`, only the text is kept.
 */
export function withoutCall(error: string): string {
  const said = error.replace(/^[A-Z]+ https?:\/\/\S+ answered (?=\d)(\d{3}[^:]*: (?=\S))?/, "");
  if (!said.startsWith("{")) return said;
  try {
    const [text, ...others] = Object.values(JSON.parse(said) as object);
    return typeof text === "string" && text !== "" && others.length === 0 ? text : said;
  } catch {
    return said;
  }
}
