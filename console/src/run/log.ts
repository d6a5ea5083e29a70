import type { Schemas } from "../api/client";

/** At most this many characters of a log are shown: a browser is slow with more. */
export const MOST_CHARACTERS = 2_000_000;

/** A part of the log of one attempt. */
export interface LogPart {
  attempt: number;
  /** The source of the end of the text. */
  source: string;
  text: string;
}

/** What was read of a log. `after` is the position at its end, `more` says whether further text is stored, and `open`
 * whether lines may still be added. */
export interface Log {
  parts: readonly LogPart[];
  after: string | null;
  more: boolean;
  open: boolean;
  characters: number;
}

export const NOTHING_READ: Log = { parts: [], after: null, more: false, open: true, characters: 0 };

// biome-ignore lint/suspicious/noControlCharactersInRegex: the beginning of a sequence that colors a terminal
const COLORS = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Returns the log with a page added: texts of the same attempt are joined, another source begins on a new line, and
 * colors of a terminal are removed. */
export function appended(log: Log, page: Schemas["RunLog"]): Log {
  const parts = [...log.parts];
  let characters = log.characters;
  for (const { attempt, source, text } of page.texts) {
    const plain = text.replace(COLORS, "").replaceAll("\r\n", "\n");
    const last = parts.at(-1);
    if (last?.attempt === attempt) {
      const between = last.source === source || last.text.endsWith("\n") ? "" : "\n";
      parts[parts.length - 1] = { attempt, source, text: last.text + between + plain };
    } else parts.push({ attempt, source, text: plain });
    characters += plain.length;
  }
  return { parts, after: page.after, more: page.more, open: page.open, characters };
}

/** Reads a log from where `log` ends until all of it or MOST_CHARACTERS are read. */
export async function readOn(
  log: Log,
  page: (after: string | null) => Promise<Schemas["RunLog"]>,
): Promise<Log> {
  let read = log;
  while (!isCut(read)) {
    const next = await page(read.after);
    read = appended(read, next);
    if (!read.more) break;
  }
  return read;
}

/** Whether the end of the log is not shown because it is too long. */
export const isCut = (log: Log): boolean => log.characters >= MOST_CHARACTERS && (log.more || log.open);
