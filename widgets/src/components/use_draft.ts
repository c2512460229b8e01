// A text while it is typed: kept here until it is done (Enter, leaving the field, or a pause), then sent once.
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";

export interface DraftProps {
  value: string;
  onDone(value: string): void;
  /** Says what is wrong with a text that is not sent; "" for nothing. */
  check?(value: string): string;
  /** Milliseconds without typing after which the text is sent; 0 for never. */
  pause?: number;
}

/** A text while it is typed. Returns what to spread on the input, and what is wrong with it. */
export function useDraft({ value, onDone, check, pause = 0 }: DraftProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const latest = useRef({ draft, value, onDone, check });
  latest.current = { draft, value, onDone, check };
  const timer = useRef(0);
  const send = useCallback(() => {
    clearTimeout(timer.current);
    const now = latest.current;
    if (now.draft === null || now.check?.(now.draft)) return;
    if (now.draft !== now.value) now.onDone(now.draft);
    setDraft(null);
  }, []);
  useEffect(() => () => send(), [send]);
  const onChange = (event: { target: { value: string } }) => {
    setDraft(event.target.value);
    clearTimeout(timer.current);
    if (pause) timer.current = window.setTimeout(() => sendKeepingTheDraft(latest.current), pause);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isArea = (event.target as HTMLElement).tagName === "TEXTAREA";
    if (event.key === "Enter" && (!isArea || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && draft !== null) {
      clearTimeout(timer.current);
      setDraft(null);
    } else return;
    event.stopPropagation();
  };
  const wrong = draft === null ? "" : (check?.(draft) ?? "");
  return {
    wrong,
    input: {
      value: draft ?? value,
      onChange,
      onKeyDown,
      onBlur: send,
      "aria-invalid": wrong ? true : undefined,
      "data-draft": draft === null ? undefined : "",
    },
  };
}

/** Send in a pause of typing. An emptied text waits until the field is left: a person may only be rewriting it. */
function sendKeepingTheDraft({
  draft,
  value,
  onDone,
  check,
}: Omit<DraftProps, "pause"> & { draft: string | null }): void {
  if (draft?.trim() && draft !== value && !check?.(draft)) onDone(draft);
}
