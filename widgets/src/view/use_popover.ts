// A panel that opens under a button and lies over everything; Esc or a click elsewhere closes it.
import { type KeyboardEvent, type SyntheticEvent, useCallback, useEffect, useId, useLayoutEffect, useRef } from "react";

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

/** Show or hide a panel where the browser knows popovers, and where it does not. */
function show(panel: HTMLElement, isShown: boolean): void {
  if (typeof panel.showPopover !== "function") panel.hidden = !isShown;
  else if (isShown) panel.showPopover();
  else panel.hidePopover();
}

/**
 * Connect a panel with its button: spread `button` and `panel` on the two elements.
 *
 * `first` chooses what gets the focus when the panel opens, else the panel itself; `onOpen` is called when it is open.
 * Closing gives
 * the focus back to the button, unless the person went elsewhere.
 */
export function usePopover({ first, onOpen }: { first?: () => HTMLElement | null | undefined; onOpen?(): void } = {}) {
  const id = useId();
  const buttonRef = useRef<HTMLButtonElement>(null);
  const panelRef = useRef<HTMLDivElement>(null);
  const isOpen = useRef(false);
  // The popover closes by itself on the press of its own button; without this the click would open it again.
  const wasOpen = useRef(false);
  const chooseFirst = useRef(first);
  chooseFirst.current = first;

  const turned = useCallback((now: boolean) => {
    const [button, panel] = [buttonRef.current, panelRef.current];
    if (now === isOpen.current || !button || !panel) return;
    isOpen.current = now;
    button.setAttribute("aria-expanded", String(now));
    if (now) return;
    if (panel.contains(document.activeElement) || document.activeElement === document.body) button.focus();
  }, []);
  const open = useCallback(() => {
    const [button, panel] = [buttonRef.current, panelRef.current];
    if (isOpen.current || !button || !panel) return;
    show(panel, true);
    turned(true);
    place(button, panel);
    (chooseFirst.current?.() ?? panel).focus();
  }, [turned]);
  const close = useCallback(() => {
    const [button, panel] = [buttonRef.current, panelRef.current];
    if (!isOpen.current || !button || !panel) return;
    const held = panel.contains(document.activeElement);
    show(panel, false);
    turned(false);
    if (held) button.focus();
  }, [turned]);

  useLayoutEffect(() => {
    if (panelRef.current && typeof panelRef.current.showPopover !== "function") panelRef.current.hidden = true;
    buttonRef.current?.setAttribute("aria-expanded", "false");
    return close;
  }, [close]);
  useEffect(() => {
    const follow = () => {
      if (isOpen.current && buttonRef.current && panelRef.current) place(buttonRef.current, panelRef.current);
    };
    window.addEventListener("scroll", follow, true);
    window.addEventListener("resize", follow);
    return () => {
      window.removeEventListener("scroll", follow, true);
      window.removeEventListener("resize", follow);
    };
  }, []);

  const button = {
    ref: buttonRef,
    type: "button",
    "aria-haspopup": "dialog",
    "aria-controls": id,
    onPointerDown: () => {
      wasOpen.current = isOpen.current;
    },
    onClick: () => {
      if (isOpen.current || wasOpen.current) close();
      else open();
      wasOpen.current = false;
    },
  } as const;
  const panel = {
    ref: panelRef,
    id,
    popover: "auto",
    tabIndex: -1,
    onToggle: (event: SyntheticEvent) => {
      if (event.target !== panelRef.current) return;
      const isOpening = (event.nativeEvent as ToggleEvent).newState === "open";
      turned(isOpening);
      if (isOpening) onOpen?.();
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      close();
    },
  } as const;
  return { button, panel, open, close, isOpen: () => isOpen.current };
}
