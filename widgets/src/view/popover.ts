// A panel that opens under a button and lies over everything; Esc or a click elsewhere closes it.
import { freshId, h } from "./dom";
import type { Sync } from "./sync";

const GAP = 4;
/** Pixels that a panel wants below its button. */
const ROOM = 240;

export interface Popover {
  readonly panel: HTMLElement;
  readonly isOpen: boolean;
  open(): void;
  close(): void;
}

/**
 * Tie a panel to its button. `first` chooses what gets the focus when it opens (else the panel itself); closing gives the
 * focus back to the button, unless the person went elsewhere.
 */
export function popover<M extends object>(
  sync: Sync<M>,
  button: HTMLElement,
  label: string,
  first?: () => HTMLElement | null,
): Popover {
  const id = freshId("panel");
  const panel = h("div.dra-popover", { id, popover: "auto", role: "dialog", "aria-label": label, tabindex: -1 });
  const native = typeof panel.showPopover === "function";
  if (!native) panel.hidden = true;
  let isOpen = false;
  button.setAttribute("aria-haspopup", "dialog");
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-controls", id);

  const place = () => {
    const at = button.getBoundingClientRect();
    const width = panel.offsetWidth;
    const left = Math.max(8, Math.min(at.left, window.innerWidth - width - 8));
    panel.style.left = `${left}px`;
    const [below, above] = [window.innerHeight - at.bottom - 16, at.top - 16];
    // Near the lower edge it opens upwards, so that what it tells later is in sight as well.
    const isUp = below < ROOM && above > below;
    panel.style.top = isUp ? "auto" : `${at.bottom + GAP}px`;
    panel.style.bottom = isUp ? `${window.innerHeight - at.top + GAP}px` : "auto";
    panel.style.maxHeight = `${Math.max(160, isUp ? above : below)}px`;
  };
  const onToggle = (now: boolean) => {
    if (now === isOpen) return;
    isOpen = now;
    button.setAttribute("aria-expanded", String(now));
    if (!now && (panel.contains(document.activeElement) || document.activeElement === document.body)) button.focus();
  };
  const open = () => {
    if (isOpen) return;
    if (native) panel.showPopover();
    else panel.hidden = false;
    onToggle(true);
    place();
    (first?.() ?? panel).focus();
  };
  const close = () => {
    if (!isOpen) return;
    const held = panel.contains(document.activeElement);
    if (native) panel.hidePopover();
    else panel.hidden = true;
    onToggle(false);
    if (held) button.focus();
  };
  panel.addEventListener("toggle", (event) => onToggle((event as ToggleEvent).newState === "open"));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  // The popover closes by itself on the press of its own button; without this the click would open it again.
  let wasOpen = false;
  button.addEventListener("pointerdown", () => (wasOpen = isOpen));
  button.addEventListener("click", () => {
    if (isOpen || wasOpen) close();
    else open();
    wasOpen = false;
  });
  const follow = () => isOpen && place();
  sync.listen(window, "scroll", follow, true);
  sync.listen(window, "resize", follow);
  sync.atEnd(close);
  return {
    panel,
    open,
    close,
    get isOpen() {
      return isOpen;
    },
  };
}
