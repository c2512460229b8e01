// A sheet over the planner, at its right edge. While it is open, what lies under it cannot be reached.
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./button";

const TABBABLE = "button:not(:disabled), input:not(:disabled), select:not(:disabled), [tabindex='0'], summary, a[href]";

/** Whether an element is on the screen; a browser that cannot say so shows everything. */
const isSeen = (node: Element): boolean => node.checkVisibility?.() ?? true;

interface Props {
  title: string;
  words: string;
  onClose(): void;
  children: ReactNode;
}

export function Dialog({ title, words, onClose, children }: Props) {
  const sheet = useRef<HTMLDivElement>(null);
  const id = useId();
  useModal(sheet);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onClose();
    } else if (event.key === "Tab" && sheet.current) {
      keepInside(event, sheet.current);
    }
  };
  return (
    <div className="dra-sheet-place">
      <div className="dra-scrim" onClick={onClose} aria-hidden="true" />
      <div
        ref={sheet}
        className="dra-sheet"
        role="dialog"
        aria-modal="true"
        aria-labelledby={id}
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        <header className="dra-row">
          <h2 id={id}>{title}</h2>
          <span className="dra-dim">{words}</span>
          <span className="dra-gap" />
          <Button icon="cross" onClick={onClose}>
            Close
          </Button>
        </header>
        {children}
      </div>
    </div>
  );
}

/** While it is open: the focus goes into the sheet and back, and what lies under it cannot be reached. */
function useModal(sheet: { current: HTMLElement | null }): void {
  useEffect(() => {
    const node = sheet.current;
    if (!node || !isSeen(node)) return;
    const before = document.activeElement as HTMLElement | null;
    const under = [...(node.closest(".dra-lab-grid")?.children ?? [])].filter((one) => !one.contains(node));
    for (const one of under) one.setAttribute("inert", "");
    node.focus();
    return () => {
      for (const one of under) one.removeAttribute("inert");
      if (before?.isConnected) before.focus();
    };
  }, [sheet]);
}

function keepInside(event: KeyboardEvent, sheet: HTMLElement): void {
  const all = [...sheet.querySelectorAll<HTMLElement>(TABBABLE)].filter(isSeen);
  const [first, last] = [all[0], all.at(-1)];
  const now = document.activeElement;
  if (event.shiftKey && (now === first || now === sheet)) {
    event.preventDefault();
    last?.focus();
  } else if (!event.shiftKey && now === last) {
    event.preventDefault();
    first?.focus();
  }
}
