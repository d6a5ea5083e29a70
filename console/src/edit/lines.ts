import { parse } from "lossless-json";
import type { FieldError } from "../api/problem";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

interface Frame {
  isList: boolean;
  /** The name or the number of the value that comes next. */
  at: string;
}

/** The lines (from 1) of the values in a JSON text, by their pointers without the first slash. */
export function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const frames: Frame[] = [];
  let [line, read, named] = [1, 0, true];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    line += text.slice(read, index).split("\n").length - 1;
    read = index;
    const frame = frames.at(-1);
    if (token === "}" || token === "]") frames.pop();
    else if (token === ",") {
      if (frame?.isList) frame.at = String(Number(frame.at) + 1);
      named = frame?.isList === true;
    } else if (token === ":") named = true;
    else if (!named && frame) {
      frame.at = nameOf(token);
      lines.set(frames.map(({ at }) => at).join("/"), line);
    } else {
      lines.set(frames.map(({ at }) => at).join("/"), line);
      if (token === "{" || token === "[") {
        frames.push({ isList: token === "[", at: "0" });
        named = token === "[";
      }
    }
  }
  return lines;
}

function nameOf(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

/** The messages by the lines at which they are shown: that of the field, or of the innermost one that is there. */
export function faultsOf(text: string, errors: readonly FieldError[]): Map<number, string[]> {
  const lines = linesOf(text);
  const faults = new Map<number, string[]>();
  for (const { field, message } of errors) {
    let place = field;
    while (place !== "" && !lines.has(place)) place = place.split("/").slice(0, -1).join("/");
    const line = lines.get(place) ?? 1;
    faults.set(line, [...(faults.get(line) ?? []), `${field}: ${message}`]);
  }
  return faults;
}

/** The line of the first error in a text that is not JSON; null: it has no place. */
export function syntaxLine(text: string): number | null {
  try {
    parse(text); // its errors have a position, unlike those of some browsers
    return null;
  } catch (error) {
    const [, position] = /position (\d+)/.exec(String(error)) ?? [];
    return position === undefined ? null : text.slice(0, Number(position)).split("\n").length;
  }
}
