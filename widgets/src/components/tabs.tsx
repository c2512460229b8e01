// Tabs by the pattern of the ARIA guide: one tab stop, arrows choose, Home and End jump.

import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";
import { stepOf, stepped } from "../view/keys";
import { Button } from "./button";

export interface Tab {
  readonly key: string;
  readonly label: string;
  readonly panel: ReactNode;
  /** A number beside the label; 0 for none. */
  readonly count?: number;
  readonly tone?: string;
}

interface Props {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  /** `isPress` is false where the arrows chose. */
  onChoose(key: string, isPress: boolean): void;
  tools: ReactNode;
  children: ReactNode;
  /** False where only the tabs are seen; a tab then opens the panels. */
  isOpen?: boolean;
}

export function Tabs({ label, tabs, chosen, onChoose, tools, children, isOpen = true }: Props) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>('[role="tab"]') ?? [])];
    const here = buttons.indexOf(document.activeElement as HTMLElement);
    const step = /Up|Down/.test(event.key) ? undefined : stepOf(event.key);
    if (step === undefined || here < 0) return;
    event.preventDefault();
    const next = Number.isFinite(step) ? (here + step + tabs.length) % tabs.length : stepped(here, step, tabs.length);
    onChoose(tabs[next]?.key ?? "", false);
    buttons[next]?.focus();
  };
  return (
    <section className="dra-tabs dra-column dra-fill" aria-label={label}>
      <div className="dra-row is-tight dra-still dra-tabbar">
        <div ref={list} className="dra-tablist dra-fill" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
          {tabs.map((tab) => (
            <Button
              kind="bare"
              key={tab.key}
              className="dra-tab"
              role="tab"
              id={`${id}-${tab.key}`}
              aria-controls={`${id}-${tab.key}-panel`}
              aria-selected={isOpen && tab.key === chosen}
              tabIndex={tab.key === chosen ? 0 : -1}
              onClick={() => onChoose(tab.key, true)}
            >
              {tab.label}
              <span className="dra-toned" data-tone={tab.tone ?? ""}>
                {tab.count ? ` ${tab.count.toLocaleString("en")}` : ""}
              </span>
            </Button>
          ))}
        </div>
        {tools}
      </div>
      <div className="dra-panels dra-fill" hidden={!isOpen}>
        {tabs.map((tab) => (
          <div
            key={tab.key}
            className="dra-panel dra-column"
            role="tabpanel"
            id={`${id}-${tab.key}-panel`}
            aria-labelledby={`${id}-${tab.key}`}
            hidden={tab.key !== chosen}
          >
            {tab.panel}
          </div>
        ))}
      </div>
      {children}
    </section>
  );
}
