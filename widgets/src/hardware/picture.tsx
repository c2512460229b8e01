// A picture of a node: shown, lit up, and walked through with the keyboard like a tree.

import { type KeyboardEvent, type RefObject, type SyntheticEvent, useEffect, useLayoutEffect, useRef } from "react";
import { useSize } from "../view/grid";
import type { Point } from "../view/model";
import type { Choosing } from "./hardware_view";
import { useChannel, useTrait } from "./model";
import {
  bringIntoSight,
  DEVICES,
  devicesOf,
  focusItem,
  itemsOf,
  light as lightUp,
  mark,
  nextItem,
  PANE,
  requestsOf,
  show,
} from "./tree";

/** Milliseconds for which a size has to stay before the picture is laid out for it. */
const PAUSE = 120;
/** What the pane keeps for its scroll bar, and the least change that is worth another picture, in pixels. */
const [BAR, STEP] = [14, 8];

/** Tell Python how wide the picture may be, and how high once it does not fit: it then folds places that no one needs. */
function useOwnSize(root: RefObject<HTMLElement | null>, svg: string): void {
  const channel = useChannel();
  // Each view tells a size once, so that two views of one model do not answer each other.
  const told = useRef({ width: 0, height: 0 });
  const timer = useRef(0);
  const look = (node: HTMLElement) => {
    const pane = node.querySelector(`.${PANE}`);
    const isHigher = pane !== null && pane.scrollHeight > pane.clientHeight + 1;
    const height = isHigher || told.current.height ? node.clientHeight : 0;
    const now = { width: Math.max(0, Math.floor(node.clientWidth - BAR)), height };
    // A view that was hidden tells its size again.
    if (!node.clientWidth) told.current = now;
    for (const side of ["width", "height"] as const) {
      if (!now[side] || Math.abs(now[side] - told.current[side]) < STEP) continue;
      told.current[side] = now[side];
      channel.set({ [side]: now[side] });
    }
  };
  useSize(
    root,
    (node) => {
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => look(node), PAUSE);
    },
    svg,
  );
  useEffect(() => () => clearTimeout(timer.current), []);
}

interface Props {
  root: RefObject<HTMLDivElement | null>;
  svg: string;
  /** Lights up what is pointed at; without, nothing is lit. */
  point?: Point;
  /** Says why the picture cannot be shown; "" when it can. */
  onProblem(words: string): void;
  className: string;
  /** A device was clicked, or Space was pressed on it; returns whether that did anything. */
  onDevice?(item: Element, isBack: boolean): boolean;
  /** What a click or Enter on a device asks for, where it does nothing else. */
  onAsk?(device: string): void;
  /** The line that stands for folded places was pressed. */
  onFold?(): void;
  onKey?(event: KeyboardEvent): void;
}

const NO_LIGHT: Point = () => undefined;

/** An SVG of devices as a tree: the picture of the hardware, the tree of its places, and the picture of a search. */
export function DeviceTree({
  root,
  svg,
  point = NO_LIGHT,
  onProblem,
  className,
  onDevice,
  onAsk,
  onFold,
  onKey,
}: Props) {
  const highlight = useTrait("highlight");
  const lit = point === NO_LIGHT ? "" : highlight;
  // Another picture takes the focus from an item and gives it back: that is not a person's doing.
  const isDrawing = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when there is another picture
  useLayoutEffect(() => {
    if (!root.current) return;
    isDrawing.current = true;
    try {
      show(root.current, svg);
      onProblem("");
    } catch (error) {
      root.current.replaceChildren();
      onProblem(error instanceof Error ? error.message : String(error));
    } finally {
      isDrawing.current = false;
    }
  }, [svg]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => lightUp(root.current, lit), [svg, lit]);

  const onPoint = (event: SyntheticEvent) => {
    if (isDrawing.current) return;
    const item = (event.target as Element).closest(DEVICES);
    point(item?.getAttribute("data-id") ?? requestsOf(item)[0] ?? devicesOf(item)[0] ?? "");
  };
  const press = (target: Element | null, isBack: boolean): boolean => {
    if (target?.closest("[data-fold]")) onFold?.();
    const item = target?.closest(`[role="treeitem"]:is(${DEVICES})`);
    return Boolean(item && onDevice?.(item, isBack));
  };
  const held = useRef<Element | null>(null);
  const onPointerDown = (event: SyntheticEvent) => {
    held.current = (event.target as Element).closest(DEVICES);
  };
  const onClick = (event: React.MouseEvent<HTMLElement>) => {
    let target = event.target as Element;
    if (held.current && !held.current.isConnected) {
      // Another picture came between press and release: the browser reports a click on what both have in common.
      const [pressed] = devicesOf(held.current);
      target =
        [...event.currentTarget.querySelectorAll(DEVICES)].find((one) => devicesOf(one)[0] === pressed) ?? target;
    }
    const item = target.closest<SVGElement>('[role="treeitem"]');
    if (item) focusItem(itemsOf(event.currentTarget), item);
    const [device] = devicesOf(target.closest(DEVICES));
    if (!press(target, event.shiftKey) && device) onAsk?.(device);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    onKey?.(event);
    const items = itemsOf(event.currentTarget);
    const here = items.indexOf(document.activeElement as SVGElement);
    const item = items[here];
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextItem(event.key, items, here);
    const isPress = (event.key === "Enter" || event.key === " ") && (onDevice ?? onAsk) !== undefined;
    if (!next && !isPress) return;
    event.preventDefault();
    if (next) focusItem(items, next);
    else if (!press(item, event.shiftKey)) {
      const meant = requestsOf(item)[0] ?? devicesOf(item)[0];
      if (meant) point(meant);
      const [device] = devicesOf(item);
      if (device) onAsk?.(device);
    }
  };
  return (
    <div
      ref={root}
      className={className}
      onPointerOver={onPoint}
      onPointerLeave={() => point("")}
      onFocus={onPoint}
      onBlur={() => !isDrawing.current && point("")}
      onPointerDown={onPointerDown}
      onClick={onClick}
      onKeyDown={onKeyDown}
    />
  );
}

interface PictureProps {
  root: RefObject<HTMLDivElement | null>;
  point: Point;
  choosing: Choosing;
  /** Esc while devices are chosen. */
  onEnd(event: KeyboardEvent): void;
  onProblem(words: string): void;
  /** How much larger than 13 px text it is drawn, 1 for as it is. */
  zoom?: number;
}

/** The picture of the hardware, laid out for the space that it has here, with the devices that a person chose. */
export function Picture({ root, point, choosing, onEnd, onProblem, zoom = 1 }: PictureProps) {
  const channel = useChannel();
  const [svg, isStale, looked] = [useTrait("svg"), useTrait("stale"), useTrait("looked")];
  useOwnSize(root, svg);
  const sight = useRef({ chosen: "", looked: "" });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const one of root.current?.querySelectorAll<SVGElement>(`.${PANE} > svg`) ?? []) {
      const [, , width = 0, height = 0] = (one.getAttribute("viewBox") ?? "").split(" ").map(Number);
      Object.assign(one.style, { width: `${width * zoom}px`, height: `${height * zoom}px` });
    }
    const taken = [...(root.current?.querySelectorAll(".dra-hw-chosen[role='treeitem']") ?? [])];
    const chosen = `${channel.get("node")} ${channel.get("width")} ${zoom} ${taken.flatMap(devicesOf).join(" ")}`;
    if (chosen !== sight.current.chosen) bringIntoSight(root.current, taken);
    const item = mark(root.current, looked);
    if (item && looked !== sight.current.looked) {
      bringIntoSight(root.current, [item]);
      if (root.current?.contains(document.activeElement)) focusItem(itemsOf(root.current), item);
    }
    sight.current = { chosen, looked: item ? looked : "" };
  }, [svg, looked, zoom]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const item of root.current?.querySelectorAll(DEVICES) ?? []) {
      const isPicked = choosing.isOn && devicesOf(item).some((device) => choosing.picked.has(device));
      item.classList.toggle("dra-hw-picked", isPicked);
      const isItem = choosing.isOn && item.getAttribute("role") === "treeitem";
      if (isItem) item.setAttribute("aria-selected", String(isPicked));
      else item.removeAttribute("aria-selected");
    }
  }, [svg, choosing.isOn, choosing.picked]);
  const onDevice = (item: Element, isBack: boolean) => {
    if (choosing.isOn) choosing.press(devicesOf(item), isBack);
    return choosing.isOn;
  };
  const names = ["dra-picture", isStale && "is-stale", choosing.isOn && "is-choosing"];
  return (
    <DeviceTree
      root={root}
      svg={svg}
      point={point}
      onProblem={onProblem}
      className={names.filter(Boolean).join(" ")}
      onDevice={onDevice}
      onAsk={(device) => channel.send({ type: "node", name: channel.get("node"), device })}
      onFold={() => channel.set({ unfolded: !channel.get("unfolded") })}
      onKey={onEnd}
    />
  );
}
