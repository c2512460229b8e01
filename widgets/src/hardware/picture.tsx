// The picture of a node: shown, lit up, and walked through with the keyboard like a tree.
import { type KeyboardEvent, type RefObject, type SyntheticEvent, useEffect, useLayoutEffect } from "react";
import { type Light, useLit } from "../view/light";
import { useTrait } from "./model";
import { fit, focusItem, itemsOf, nextItem, show } from "./tree";
import type { Choosing } from "./use_choosing";

interface Props {
  root: RefObject<HTMLDivElement | null>;
  light: Light;
  choosing: Choosing;
  /** Esc while devices are chosen. */
  onEnd(event: KeyboardEvent): void;
  /** Says why the picture cannot be shown; "" when it can. */
  onProblem(words: string): void;
}

export function Picture({ root, light, choosing, onEnd, onProblem }: Props) {
  const [svg, isStale] = [useTrait("svg"), useTrait("stale")];
  const lit = useLit(light);
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
    for (const item of root.current?.querySelectorAll("[data-id]") ?? []) {
      const isMeant = item.getAttribute("data-id") === lit || item.getAttribute("data-request") === lit;
      item.classList.toggle("dra-hw-lit", lit !== "" && isMeant);
    }
  }, [svg, lit]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const item of root.current?.querySelectorAll("[data-id]") ?? []) {
      const isPicked = choosing.isOn && choosing.picked.has(item.getAttribute("data-id") ?? "");
      item.classList.toggle("dra-hw-picked", isPicked);
      const isItem = choosing.isOn && item.getAttribute("role") === "treeitem";
      if (isItem) item.setAttribute("aria-selected", String(isPicked));
      else item.removeAttribute("aria-selected");
    }
  }, [svg, choosing.isOn, choosing.picked]);
  useEffect(() => {
    const node = root.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(() => fit(node));
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [root]);

  const point = (event: SyntheticEvent) =>
    light.point((event.target as Element).closest("[data-id]")?.getAttribute("data-id") ?? "");
  const toggle = (target: Element | null): boolean => {
    const device = target?.closest('[role="treeitem"][data-id]')?.getAttribute("data-id");
    if (!choosing.isOn || !device) return false;
    choosing.toggle(device);
    return true;
  };
  const onClick = (event: SyntheticEvent<HTMLElement>) => {
    const item = (event.target as Element).closest<SVGElement>('[role="treeitem"]');
    if (item) focusItem(itemsOf(event.currentTarget), item);
    toggle(event.target as Element);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    onEnd(event);
    const items = itemsOf(event.currentTarget);
    const here = items.indexOf(document.activeElement as SVGElement);
    const item = items[here];
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextItem(event.key, items, here);
    const isPress = event.key === "Enter" || event.key === " ";
    if (!next && !isPress) return;
    event.preventDefault();
    if (next) focusItem(items, next);
    else if (event.key !== " " || !toggle(item)) {
      const device = item.getAttribute("data-id");
      if (device) light.point(item.getAttribute("data-request") ?? device);
    }
  };
  const names = ["dra-picture", isStale && "is-stale", choosing.isOn && "is-choosing"];
  return (
    <div
      ref={root}
      className={names.filter(Boolean).join(" ")}
      onPointerOver={point}
      onPointerLeave={() => light.point("")}
      onFocus={point}
      onBlur={() => light.point("")}
      onClick={onClick}
      onKeyDown={onKeyDown}
    />
  );
}
