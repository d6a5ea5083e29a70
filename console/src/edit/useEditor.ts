import { useEffect, useMemo, useRef, useState } from "react";
import { freshKey } from "../api/client";
import { asProblem, type FieldError } from "../api/problem";
import { useStage } from "../app/context";
import { type Doc, type Json, type Path, read, written as textOf, withValue } from "./document";
import { type Base, type Draft, draftAt, keepDraft, placeOf, type Written } from "./draft";

export interface Editor {
  /** The last document that the JSON was. */
  doc: Doc;
  written: Written;
  base: Base | null;
  /** When the unsaved edit that was found here was made. */
  found: string | null;
  unsaved: boolean;
  errors: readonly FieldError[];
  set(path: Path, value: Json | undefined): void;
  setText(text: string): void;
  /** A field contains invalid JSON; null: it is valid again. */
  setBroken(path: Path, text: string | null): void;
  replace(doc: Doc, base?: Base | null): void;
  refuse(errors: readonly FieldError[]): void;
  /** The key of this creation: the same until something else is sent. */
  keyOf(body: string): string;
  /** Discards the stored draft. */
  saved(): void;
  startOver(): void;
}

const of = (doc: Doc): Written => ({ text: textOf(doc), doc, syntax: null, broken: {} });

/** The unsaved edit of a job, kept in this tab until it is saved. */
export function useEditor(jobId: string | null, first: Doc, stored: Base | null): Editor {
  const { session } = useStage();
  const place = placeOf(session, jobId);
  const [draft] = useState(() => draftAt(place));
  const [found, setFound] = useState(draft?.at ?? null);
  const [base, setBase] = useState(draft?.base ?? stored);
  const [written, setWritten] = useState<Written>(draft?.written ?? of(first));
  const [errors, refuse] = useState<readonly FieldError[]>([]);
  const sent = useRef<Draft["sent"]>(draft?.sent ?? null);
  const over = useRef(false);
  const untouched = useMemo(() => textOf(base?.doc ?? first), [base, first]);
  const unsaved = written.text !== untouched || Object.keys(written.broken).length > 0;

  const keep = () => {
    if (over.current) return;
    const draft = { written, base, sent: sent.current, at: new Date().toISOString() };
    keepDraft(place, unsaved ? draft : null);
  };
  useEffect(keep, [written, base, unsaved, place]);

  const replace = (doc: Doc, against = base) => {
    setWritten(of(doc));
    setBase(against);
    refuse([]);
  };
  return {
    doc: written.doc,
    written,
    base,
    found,
    unsaved,
    errors,
    refuse,
    replace,
    set(path, value) {
      const pointer = path.join("/");
      refuse((all) => all.filter(({ field }) => field !== pointer && !field.startsWith(`${pointer}/`)));
      setWritten((before) => {
        const doc = withValue(before.doc, path, value);
        const { [pointer]: _, ...broken } = before.broken;
        return { text: textOf(doc), doc, syntax: null, broken };
      });
    },
    setText(text) {
      refuse([]);
      try {
        const doc = read(text);
        setWritten({ text, doc, syntax: null, broken: {} });
      } catch (error) {
        setWritten((before) => ({ ...before, text, syntax: (error as SyntaxError).message }));
      }
    },
    setBroken(path, text) {
      setWritten((before) => {
        const { [path.join("/")]: _, ...broken } = before.broken;
        return { ...before, broken: text === null ? broken : { ...broken, [path.join("/")]: text } };
      });
    },
    keyOf(body) {
      if (sent.current?.body !== body) sent.current = { key: freshKey(), body };
      keep();
      return sent.current.key;
    },
    saved() {
      over.current = true;
      keepDraft(place, null);
    },
    startOver() {
      setFound(null);
      replace(stored?.doc ?? first, stored);
    },
  };
}

/** The errors of a field and of its parts. */
export function errorOf(errors: readonly FieldError[], path: Path): string | undefined {
  const pointer = path.join("/");
  const found = errors.filter(({ field }) => field === pointer || field.startsWith(`${pointer}/`));
  return found.length === 0 ? undefined : found.map((each) => each.message).join("; ");
}

export const fieldsOf = (error: unknown): readonly FieldError[] =>
  error === null || error === undefined ? [] : asProblem(error).fields;
