// The picture of the node with the devices that the search holds; the device of the present step is marked.
import { type KeyboardEvent, type SyntheticEvent, useLayoutEffect, useRef } from "react";
import { useChannel, useTrait } from "../hardware/model";
import { DEVICES, devicesOf, focusItem, itemsOf, nextItem, show } from "../hardware/tree";

const MEANING: Readonly<Record<string, string>> = {
  rejected: "rejected in this step",
  allocated: "allocated in this step",
  "given-back": "given back in this step",
};

export function TracePicture({ onProblem }: { onProblem(words: string): void }) {
  const channel = useChannel();
  const [svg, now, isPredicting] = [useTrait("trace_svg"), useTrait("trace_now"), useTrait("trace_predict")];
  const { picked } = useTrait("trace_prediction");
  const root = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when there is another picture
  useLayoutEffect(() => {
    if (!root.current) return;
    try {
      show(root.current, svg);
      onProblem("");
    } catch (error) {
      root.current.replaceChildren();
      onProblem(error instanceof Error ? error.message : String(error));
    }
  }, [svg]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const item of root.current?.querySelectorAll(DEVICES) ?? []) {
      const isNow = Boolean(now.device) && devicesOf(item).includes(now.device ?? "");
      item.classList.toggle("dra-trace-now", isNow);
      if (isNow) item.setAttribute("data-step", now.kind ?? "");
      else item.removeAttribute("data-step");
      item.classList.toggle("dra-trace-picked", isPredicting && devicesOf(item).includes(picked ?? ""));
    }
    // only once the picture has its size
    const frame = requestAnimationFrame(() =>
      root.current?.querySelector(".dra-trace-now")?.scrollIntoView?.({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [svg, now.device, now.kind, isPredicting, picked]);

  const pick = (target: Element | null) => {
    const [device] = devicesOf(target?.closest(`[role="treeitem"]:is(${DEVICES})`));
    if (isPredicting && device) channel.send({ type: "predict", device });
  };
  const onClick = (event: SyntheticEvent<HTMLElement>) => {
    const item = (event.target as Element).closest<SVGElement>('[role="treeitem"]');
    if (item) focusItem(itemsOf(event.currentTarget), item);
    pick(event.target as Element);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const items = itemsOf(event.currentTarget);
    const here = items.indexOf(document.activeElement as SVGElement);
    const next = nextItem(event.key, items, here);
    if (here < 0 || !(next || event.key === "Enter")) return;
    event.preventDefault();
    if (next) focusItem(items, next);
    else pick(items[here] ?? null);
  };
  const meaning = MEANING[now.kind ?? ""];
  return (
    <div className="dra-trace-hardware">
      <div
        ref={root}
        className={`dra-picture${isPredicting ? " is-choosing" : ""}`}
        onClick={onClick}
        onKeyDown={onKeyDown}
      />
      <p className="dra-hint dra-trace-legend" aria-hidden="true">
        {meaning && (
          <>
            <span className="dra-trace-swatch" data-step={now.kind} /> {meaning}
          </>
        )}
      </p>
    </div>
  );
}
