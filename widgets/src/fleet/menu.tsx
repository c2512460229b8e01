// A menu at the pointer or under a button: arrows move, Enter chooses, Esc closes it and gives the focus back.

import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import { onArrows } from "../view/keys";

export interface MenuItem {
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
