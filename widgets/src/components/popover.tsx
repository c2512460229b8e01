// What opens over everything: a panel under its button, the explanation of a figure or a word, a menu.

import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  type SyntheticEvent,
  useCallback,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import type { Tile } from "../generated/models";
import { onArrows } from "../view/keys";
import { keyed } from "../view/text";
import { Button, classes } from "./button";
import { Lines } from "./content";

// A panel that opens under a button and lies over everything; Esc or a click elsewhere closes it.
const GAP = 4;
/** Pixels that a panel wants below its button. */
const ROOM = 240;

function place(button: HTMLElement, panel: HTMLElement): void {
  const at = button.getBoundingClientRect();
  panel.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - panel.offsetWidth - 8))}px`;
  const [below, above] = [window.innerHeight - at.bottom - 16, at.top - 16];
  // Near the lower edge it opens upwards, so that what it tells later is in sight as well.
  const isUp = below < ROOM && above > below;
  panel.style.top = isUp ? "auto" : `${at.bottom + GAP}px`;
  panel.style.bottom = isUp ? `${window.innerHeight - at.top + GAP}px` : "auto";
  panel.style.maxHeight = `${Math.max(160, isUp ? above : below)}px`;
}

/**
 * Connect a panel with its button: spread `button` and `panel` on the two elements. Esc or a press elsewhere closes it.
 *
 * `first` selects what gets the focus when it opens, else the panel itself. Closing gives the focus back to the button.
 */
export function usePopover({ first, onOpen }: { first?: string; onOpen?(): void } = {}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const put = useCallback(() => {
    if (button.current && panel.current) place(button.current, panel.current);
  }, []);
  const follow = useCallback(
    (isOpen: boolean) => {
      const change = isOpen ? window.addEventListener : window.removeEventListener;
      for (const name of ["scroll", "resize"]) change(name, put, true);
    },
    [put],
  );
  useEffect(() => () => follow(false), [follow]);
  const onBeforeToggle = ({ nativeEvent, target }: SyntheticEvent) => {
    if (target !== panel.current) return;
    const isOpening = (nativeEvent as ToggleEvent).newState === "open";
    button.current?.setAttribute("aria-expanded", String(isOpening));
    follow(isOpening);
    if (!isOpening) return;
    onOpen?.();
    // It has a size once it is shown.
    requestAnimationFrame(() => {
      put();
      (panel.current?.querySelector<HTMLElement>(first || "none") ?? panel.current)?.focus();
    });
  };
  const onKeyDown = (event: KeyboardEvent) => event.key === "Escape" && event.stopPropagation();
  return {
    button: { ref: button, popoverTarget: id, "aria-haspopup": "dialog", "aria-controls": id } as const,
    panel: { ref: panel, id, popover: "auto", tabIndex: -1, onBeforeToggle, onKeyDown } as const,
    open: () => panel.current?.togglePopover?.(true),
    close: () => panel.current?.togglePopover?.(false),
    isOpen: () => button.current?.getAttribute("aria-expanded") === "true",
  };
}

interface PopoverProps {
  over: ReturnType<typeof usePopover>;
  title: string;
  className?: string;
  /** Whether the title is for screen readers alone. */
  isBare?: boolean;
  children: ReactNode;
}

export function Popover({ over, title, className, isBare = false, children }: PopoverProps) {
  return (
    <div {...over.panel} role="dialog" className={classes("dra-popover", className)} aria-label={title}>
      {!isBare && <h3>{title}</h3>}
      {children}
    </div>
  );
}

/** A number with its caption; the popover says what it counts. */
export function Figure({ row }: { row: Tile }) {
  const { value, caption, tone = "plain", title = caption, lines = [] } = row;
  return (
    <Explained
      className="dra-tile-figure"
      title={title}
      lines={lines}
      tone={tone}
      name={`tile ${caption}`}
      head={
        <p className="dra-explained-figure">
          <b>{value}</b> {caption}
        </p>
      }
    >
      <b>{value}</b>
      <span>{caption}</span>
    </Explained>
  );
}

/** Numbers beside each other. */
export function Figures({ rows }: { rows: readonly Tile[] }) {
  return (
    <div className="dra-row dra-tiles">
      {keyed(rows, (row) => row.caption).map(([key, row]) => (
        <Figure key={key} row={row} />
      ))}
    </div>
  );
}

/** A word of which the popover says what it means. */
export function Term({ title, text }: { title: string; text: string }) {
  return (
    <Explained className="dra-term" title={title} lines={[text]} name={`term ${title}`}>
      {title}
    </Explained>
  );
}

interface ExplainedProps {
  className: string;
  title: string;
  lines: readonly string[];
  name: string;
  tone?: string;
  head?: ReactNode;
  children: ReactNode;
}

function Explained({ className, title, lines, name, tone, head, children }: ExplainedProps) {
  const over = usePopover({ first: "button" });
  return (
    <>
      <Button
        {...over.button}
        kind="bare"
        className={className}
        data-tone={tone}
        data-key={name}
        title={`What is this? ${title}`}
      >
        {children}
      </Button>
      <Popover over={over} title={title} className="dra-explained">
        {head}
        <Lines lines={lines} />
        <Button onClick={over.close}>Close</Button>
      </Popover>
    </>
  );
}

// A menu at the pointer or under a button: arrows move, Enter chooses, Esc closes it and gives the focus back.
interface MenuItem {
  readonly label: string;
  act(): void;
  readonly isOff?: boolean;
}

interface Opened {
  readonly title: string;
  readonly items: readonly MenuItem[];
  readonly x: number;
  readonly y: number;
}

type Open = (
  at: { clientX: number; clientY: number; currentTarget: Element },
  title: string,
  items: readonly MenuItem[],
) => void;

const MenuContext = createContext<Open>(() => undefined);

/** Return what opens a menu: at the pointer, or under the element if the keyboard pressed it. */
export const useMenu = (): Open => useContext(MenuContext);

/** A button with dots that opens a menu of what can be done with something. */
export function MenuButton({ of, items }: { of: string; items: readonly MenuItem[] }) {
  const menu = useMenu();
  return (
    <Button
      kind="quiet"
      icon="dots"
      label={`Actions for ${of}`}
      aria-haspopup="menu"
      onClick={(event) => menu(event, of, items)}
    />
  );
}

export function MenuProvider({ children }: { children: ReactNode }) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const panel = useRef<HTMLDivElement>(null);
  const back = useRef<Element | null>(null);
  const open = useCallback<Open>((at, title, items) => {
    const box = at.currentTarget.getBoundingClientRect();
    const isPointer = at.clientX > 0 || at.clientY > 0;
    back.current = at.currentTarget;
    setOpened({ title, items, x: isPointer ? at.clientX : box.left, y: isPointer ? at.clientY : box.bottom });
  }, []);
  useEffect(() => {
    const node = panel.current;
    if (!opened || !node) return;
    if (typeof node.showPopover === "function" && !node.matches(":popover-open")) node.showPopover();
    const [right, bottom] = [window.innerWidth - node.offsetWidth - 8, window.innerHeight - node.offsetHeight - 8];
    node.style.left = `${Math.max(8, Math.min(opened.x, right))}px`;
    node.style.top = `${Math.max(8, Math.min(opened.y, bottom))}px`;
    node.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
  }, [opened]);
  const close = () => {
    setOpened(null);
    if (back.current instanceof HTMLElement || back.current instanceof SVGElement) back.current.focus();
  };
  return (
    <MenuContext value={open}>
      {children}
      {opened && (
        <div
          ref={panel}
          popover="auto"
          role="menu"
          tabIndex={-1}
          className="dra-popover dra-menu"
          aria-label={opened.title}
          onToggle={(event) => {
            if ((event.nativeEvent as ToggleEvent).newState === "closed") setOpened(null);
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape" || event.key === "Tab") {
              event.preventDefault();
              event.stopPropagation();
              close();
            } else onArrows("button:not(:disabled)")(event);
          }}
        >
          <div className="dra-option dra-dim">{opened.title}</div>
          {opened.items.map((item) => (
            <Button
              kind="bare"
              className="dra-option"
              key={item.label}
              role="menuitem"
              disabled={item.isOff}
              onClick={() => {
                close();
                item.act();
              }}
            >
              {item.label}
            </Button>
          ))}
        </div>
      )}
    </MenuContext>
  );
}
