// The claim as text that a person edits: the canvas follows after a pause, a broken line is marked, nothing is lost.

import { type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { Button, classes } from "../components/button";
import { Callout } from "../components/content";
import type { ClaimAnswer } from "../generated/models";
import type { Point } from "../view/model";
import { keyed } from "../view/text";
import { useChannel, useTrait } from "./model";
import { YamlPanel } from "./yaml_panel";

/** Write another text as if a person had typed it: Ctrl+Z brings the old one back. */
function typeOver(area: HTMLTextAreaElement, text: string): void {
  const [top, left] = [area.scrollTop, area.scrollLeft];
  area.focus();
  area.select();
  // The one way to change a text and keep the browser's own undo history; where it is missing the text is set.
  if (!document.execCommand?.("insertText", false, text)) area.value = text;
  area.setSelectionRange(0, 0);
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/** Put another text in the place of one that is being looked at: the caret stays where it is read, nothing scrolls. */
function replaceText(area: HTMLTextAreaElement, text: string): void {
  const old = area.value;
  const [top, left, most] = [area.scrollTop, area.scrollLeft, Math.min(old.length, text.length)];
  let head = 0;
  while (head < most && old[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  area.setRangeText(text.slice(head, text.length - tail), head, old.length - tail, "preserve");
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/** How long a person pauses before the text is taken over, in milliseconds. */
const PAUSE = 400;

const correctWords = (count: number): string => `Correct ${count} problem${count === 1 ? "" : "s"}`;

/** The manifests with a button that opens the editor, and the editor in their place. */
export function YamlEditor({ point, code }: { point: Point; code: RefObject<HTMLDivElement | null> }) {
  const [answer, fixes] = [useTrait("claim_answer"), useTrait("claim_fixes")];
  const [isOpen, setOpen] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const text = useTypedText(area, isOpen);
  const isUnfinished = isMine(answer, text.sent) && Boolean(answer.message);
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (isOpen) area.current?.focus();
    else if (wasOpen.current) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  const begin = () => {
    text.begin();
    setOpen(true);
    area.current?.focus();
  };
  const end = () => {
    text.finish();
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      end();
    } else if ((event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) {
      // The canvas' own undo would take back the drawing while the text is being written.
      event.stopPropagation();
      const isRedo = event.shiftKey || event.key.toLowerCase() === "y";
      // Inside JupyterLab the key alone does not always reach the text's own history.
      if (document.execCommand?.(isRedo ? "redo" : "undo")) event.preventDefault();
    }
  };
  const hasFixes = fixes.length > 0 && !isOpen;
  return (
    <div className="dra-pane dra-column">
      <div className="dra-row dra-yaml-tools">
        <Button title="Correct the drawing; Ctrl+Z undoes" hidden={!hasFixes} send={{ type: "fix-claim" }}>
          {correctWords(fixes.length)}
        </Button>
        <Button
          ref={button}
          title="Edit the claim as text; the canvas follows"
          hidden={isOpen}
          onClick={() => (isUnfinished ? setOpen(true) : begin())}
        >
          {isUnfinished ? "Go on with your text" : "Edit"}
        </Button>
      </div>
      <ul className="dra-fixes" aria-label="Corrections" hidden={!hasFixes}>
        {keyed(fixes, (row) => row.text).map(([key, row]) => (
          <li key={key}>{row.text}</li>
        ))}
      </ul>
      <YamlPanel point={point} code={code} hidden={isOpen} />
      <section
        className="dra-editor dra-column dra-fill"
        aria-label="Edit the claim"
        hidden={!isOpen}
        onKeyDown={onKeyDown}
      >
        <Editor area={area} text={text} answer={answer} isOpen={isOpen} onBack={begin} onDone={end} />
      </section>
    </div>
  );
}

const isMine = (answer: ClaimAnswer, sent: number): boolean => sent > 0 && answer.number === sent;

interface EditorProps {
  area: RefObject<HTMLTextAreaElement | null>;
  text: TypedText;
  answer: ClaimAnswer;
  isOpen: boolean;
  onBack(): void;
  onDone(): void;
}

function Editor({ area, text, answer, isOpen, onBack, onDone }: EditorProps) {
  const told = useId();
  const gutter = useRef<HTMLDivElement>(null);
  const mine = isOpen && isMine(answer, text.sent);
  const message = mine ? (answer.message ?? "") : "";
  const fixes = mine ? (answer.fixes ?? []) : [];
  const follow = () => {
    if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  useLayoutEffect(follow);
  return (
    <>
      <div className="dra-editor-page dra-fill">
        <div ref={gutter} className="dra-editor-lines" aria-hidden="true">
          {Array.from({ length: text.lines }, (_, i) => i + 1).map((line) => (
            <span key={line} className={line === answer.line ? "is-wrong" : undefined}>
              {line}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          className="dra-editor-text dra-pane"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          wrap="off"
          aria-label="Claim as YAML"
          aria-describedby={told}
          aria-invalid={message !== ""}
          onInput={text.onInput}
          onScroll={follow}
        />
      </div>
      <ul className="dra-fixes" aria-label="Corrections" hidden={!fixes.length}>
        {keyed(fixes, (row) => `${row.line} ${row.text}`).map(([key, row]) => (
          <li key={key}>{`${answer.text ? "Corrected: " : ""}${row.line ? `line ${row.line}, ` : ""}${row.text}`}</li>
        ))}
      </ul>
      <div className="dra-row dra-ruled dra-editor-foot">
        <Callout
          tone={message ? "error" : "plain"}
          className={classes("dra-editor-told", message && "is-wrong")}
          id={told}
          role="status"
        >
          <span>{toldWords(message, answer.line ?? 0, mine)}</span>
        </Callout>
        <span className="dra-gap" />
        <Button hidden={!fixes.length || Boolean(answer.text)} onClick={text.correct}>
          {correctWords(fixes.length)}
        </Button>
        <Button hidden={!message} onClick={onBack}>
          Back to the drawing's YAML
        </Button>
        <Button icon="check" onClick={onDone}>
          Done
        </Button>
      </div>
    </>
  );
}

function toldWords(message: string, line: number, isShown: boolean): string {
  if (message) return `${line ? `Line ${line}: ` : ""}${message.replace(/[.]$/, "")}. The drawing stays as it was.`;
  if (isShown) return "The canvas shows this text.";
  return "Changes apply when you stop typing. Ctrl+Z undoes.";
}

interface TypedText {
  /** The number of the latest text that was sent; 0 while nobody has typed. */
  readonly sent: number;
  readonly lines: number;
  begin(): void;
  finish(): void;
  correct(): void;
  onInput(): void;
}

/**
 * The text in `area` on its way to Python and back: sent after a pause, corrected, replaced when the drawing changes.
 */
function useTypedText(area: RefObject<HTMLTextAreaElement | null>, isOpen: boolean): TypedText {
  const channel = useChannel();
  const [answer, text, number] = [useTrait("claim_answer"), useTrait("claim_text"), useTrait("claim_number")];
  const [sent, setSent] = useState(0);
  const [lines, setLines] = useState(1);
  // Numbers go on where the page before ended.
  const last = useRef(Math.max(answer.number ?? 0, number));
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The text for which corrections were asked, and whether they are being written: nobody types then.
  const asked = useRef("");
  const isQuiet = useRef(false);

  const value = () => area.current?.value ?? "";
  const count = () => setLines(value().split("\n").length);
  const stop = () => {
    clearTimeout(timer.current);
    timer.current = undefined;
  };
  const next = () => {
    stop();
    last.current += 1;
    setSent(last.current);
    return last.current;
  };
  const send = () => channel.send({ type: "edit-claim", number: next(), text: value() });
  const correct = () => {
    asked.current = value();
    channel.send({ type: "fix-claim", number: next(), text: asked.current });
  };
  const begin = () => {
    stop();
    if (area.current) area.current.value = text;
    area.current?.setSelectionRange(0, 0);
    setSent(0);
    count();
  };
  const finish = () => {
    if (value() !== text && !isMine(answer, sent)) send();
  };
  const onInput = () => {
    count();
    if (isQuiet.current) return;
    stop();
    timer.current = setTimeout(send, PAUSE);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when Python answers
  useLayoutEffect(() => {
    const isWanted = isOpen && isMine(answer, sent) && value() === asked.current;
    if (!area.current || !answer.text || !isWanted || answer.text === asked.current) return;
    asked.current = "";
    isQuiet.current = true;
    typeOver(area.current, answer.text);
    isQuiet.current = false;
    count();
  }, [answer]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the drawing's text has changed
  useLayoutEffect(() => {
    // What is being typed, waits or was refused is the person's, and so is the form of a text that the drawing shows.
    const isSettled = sent === 0 || (answer.number === sent && !answer.message);
    if (!area.current || !isOpen || timer.current !== undefined || !isSettled || (sent > 0 && number === sent)) return;
    setSent(0);
    replaceText(area.current, text);
    count();
  }, [text, number]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { sent, lines, begin, finish, correct, onInput };
}
