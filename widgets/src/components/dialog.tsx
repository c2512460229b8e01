// A sheet at the right edge of the planner. While it is open, what lies under it cannot be reached.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useSize } from "../view/grid";
import { Button } from "./button";

interface Props {
  title: string;
  words: string;
  onClose(): void;
  children: ReactNode;
}

/** Pixels that a sheet needs: a planner that has less is left for the whole window. */
const [LEAST_WIDTH, LEAST_HEIGHT] = [860, 560];

/** Keep a sheet within the planner around it: the menus and side bars of JupyterLab are not of the planner. */
function lieOnPlanner(sheet: HTMLElement | null, grid: HTMLElement): void {
  if (!sheet) return;
  const planner = grid.getBoundingClientRect();
  const [top, bottom] = [Math.max(0, planner.top), Math.min(window.innerHeight, planner.bottom)];
  const isRoomy = planner.width >= LEAST_WIDTH && bottom - top >= LEAST_HEIGHT;
  const right = document.documentElement.clientWidth - planner.right;
  sheet.style.inset = isRoomy ? `${top}px ${Math.max(0, right)}px auto auto` : "";
  sheet.style.height = isRoomy ? `${bottom - top}px` : "";
  sheet.style.maxWidth = isRoomy ? `${planner.width}px` : "";
}

export function Dialog({ title, words, onClose, children }: Props) {
  const sheet = useRef<HTMLDialogElement>(null);
  const planner = useRef<HTMLElement | null>(null);
  const id = useId();
  useLayoutEffect(() => {
    const node = sheet.current;
    // A view that is not on the screen must not bar the page; its own element has no box in the planner.
    const view = node?.closest(".dra-lab") ?? node?.parentElement;
    if (view?.checkVisibility?.() !== false) node?.showModal?.();
    node?.focus();
    planner.current = node?.closest<HTMLElement>(".dra-lab-grid") ?? null;
    if (planner.current) lieOnPlanner(node, planner.current);
    return () => node?.close?.();
  }, []);
  useSize(planner, (grid) => lieOnPlanner(sheet.current, grid));
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
