// A sheet over the page, at its right edge. While it is open, what lies under it cannot be reached.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Button } from "./button";

interface Props {
  title: string;
  words: string;
  onClose(): void;
  children: ReactNode;
}

export function Dialog({ title, words, onClose, children }: Props) {
  const sheet = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const node = sheet.current;
    // A view that is not on the screen must not bar the page; its own element has no box in the planner.
    const view = node?.closest(".dra-lab") ?? node?.parentElement;
    if (view?.checkVisibility?.() !== false) node?.showModal?.();
    node?.focus();
    return () => node?.close?.();
  }, []);
  return (
    <dialog
      ref={sheet}
      className="dra-sheet"
      aria-labelledby={id}
      tabIndex={-1}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === sheet.current && onClose()}
      onKeyDown={(event) => event.key === "Escape" && event.stopPropagation()}
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
    </dialog>
  );
}
