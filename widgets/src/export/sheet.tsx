// The Export sheet: what would be written, what kube-scheduler does with it, and the write.
import { type KeyboardEvent, useEffect, useId, useRef } from "react";
import type { ExportRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { FindingsList } from "../view/findings_list";
import { Icon } from "../view/icon";
import { Files } from "./files";
import { GangSettings } from "./gang";
import { Measure } from "./measure";
import { Outcome } from "./outcome";
import { Settings } from "./settings";
import { Write } from "./write";

const TABBABLE = "button:not(:disabled), input:not(:disabled), select:not(:disabled), [tabindex='0'], summary, a[href]";

/** Whether an element is on the screen; a browser that cannot say so shows everything. */
const isSeen = (node: Element): boolean => node.checkVisibility?.() ?? true;

/** The sheet while it is open. */
export function ExportSheet() {
  const row = useTrait("export");
  return row.choice ? <Sheet row={row} /> : null;
}

function Sheet({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const sheet = useRef<HTMLDivElement>(null);
  const title = useId();
  const close = () => channel.send({ type: "close-export" });
  useModal(sheet);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === "Tab" && sheet.current) {
      keepInside(event, sheet.current);
    }
  };
  const findings = row.findings ?? [];
  return (
    <div className="dra-sheet-place">
      <div className="dra-scrim" onClick={close} aria-hidden="true" />
      <div
        ref={sheet}
        className="dra-sheet"
        role="dialog"
        aria-modal="true"
        aria-labelledby={title}
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        <header className="dra-sheet-head">
          <h2 id={title}>Export</h2>
          <span className="dra-dim">
            {row.name}, planned on {row.cluster}
          </span>
          <span className="dra-gap" />
          <button type="button" className="dra-button" onClick={close}>
            <Icon name="cross" />
            Close
          </button>
        </header>
        <Outcome row={row} />
        <div className="dra-sheet-body">
          <div className="dra-sheet-left">
            {row.gang ? <GangSettings row={row} gang={row.gang} /> : <Settings row={row} />}
            {row.measure && <Measure measure={row.measure} />}
            {findings.length > 0 && (
              <details className="dra-sheet-card" open={findings.some((one) => one.severity === "error")}>
                <summary>
                  {findings.length === 1 ? "1 finding" : `${findings.length} findings`} about these manifests
                </summary>
                <FindingsList findings={findings} nothing="" />
              </details>
            )}
          </div>
          <Files row={row} />
        </div>
        <Write row={row} />
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
