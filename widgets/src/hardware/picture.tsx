// A picture of a node: shown, lit up, and walked through with the keyboard like a tree.

import { type KeyboardEvent, type RefObject, type SyntheticEvent, useEffect, useLayoutEffect, useRef } from "react";
import { type Light, useLit } from "../view/model";
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

/** The least change that is worth another picture, in pixels. */
const HEIGHT_STEP = 8;

/** Tell Python how high the picture may be, once it does not fit; a pane that grows with its picture always fits. */
function useOwnHeight(root: RefObject<HTMLElement | null>, svg: string): void {
  const channel = useChannel();
  const told = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it looks again when there is another picture
  useEffect(() => {
    const node = root.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(() => {
      const pane = node.querySelector(`.${PANE}`);
      const isHigher = pane !== null && pane.scrollHeight > pane.clientHeight + 1;
      const height = node.clientHeight;
      // each view tells its height once, so that two views of one model do not answer each other
      if (!height || !(isHigher || told.current) || Math.abs(height - told.current) < HEIGHT_STEP) return;
      told.current = height;
      channel.set({ height });
    });
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [channel, root, svg]);
}

/** Milliseconds for which a width has to stay before the picture is laid out for it. */
const PAUSE = 120;
/** What the pane keeps for its scroll bar, and the least change that is worth another picture, in pixels. */
const [BAR, STEP] = [14, 8];
/** Wider than any picture: a view that goes lets the others say how wide they are. */
const FREE = 4096;

/** What a view's width needs of its channel. */
interface WidthChannel {
  get(name: "width"): number;
  /** Change the value for the views of this page and tell Python. */
  set(values: { width: number }): void;
  /** Change the value for the views of this page only. */
  show(values: { width: number }): void;
  on(name: "width", call: () => void): () => void;
}

/**
 * One view's width. Every view objects to a picture that is wider than itself, so the narrowest one decides; views of
 * one page do so in one step, and Python is told one width.
 */
export class OwnWidth {
  private own = 0;
  private readonly off: () => void;

  constructor(private readonly channel: WidthChannel) {
    this.off = channel.on("width", () => this.object());
  }

  /** Take the width that the view has now, 0 if it is not shown. */
  take(width: number): void {
    const before = this.own;
    if (width <= 0) {
      this.own = 0;
      this.release(before);
      return;
    }
    this.own = width;
    if (Math.abs(width - this.channel.get("width")) < STEP) return;
    const isNarrowest = width < this.channel.get("width");
    if (isNarrowest || !before || this.decided(before)) this.channel.set({ width });
  }

  end(): void {
    this.off();
    const before = this.own;
    this.own = 0;
    this.release(before);
  }

  private object(): void {
    if (this.own && this.own < this.channel.get("width") - STEP) this.channel.set({ width: this.own });
  }

  /** Say whether the picture is as wide as this view was. */
  private decided(before: number): boolean {
    return Math.abs(before - this.channel.get("width")) < STEP;
  }

  /** Let the other views say how wide they are, if it was this one that decided; without others all stays. */
  private release(before: number): void {
    if (!before || !this.decided(before)) return;
    const width = this.channel.get("width");
    this.channel.show({ width: FREE });
    if (this.channel.get("width") === FREE) this.channel.show({ width });
  }
}

/** Tell Python how wide the picture may be. */
function useOwnWidth(root: RefObject<HTMLElement | null>): void {
  const channel = useChannel();
  useEffect(() => {
    const node = root.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const own = new OwnWidth(channel);
    const sizes = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => own.take(Math.floor(node.clientWidth - BAR)), PAUSE);
    });
    sizes.observe(node);
    return () => {
      clearTimeout(timer);
      sizes.disconnect();
      own.end();
    };
  }, [channel, root]);
}

interface Props {
  root: RefObject<HTMLDivElement | null>;
  svg: string;
  /** What is lit up, and how to light it; without, nothing is. */
  light?: Lamp;
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

type Lamp = Pick<Light, "get" | "subscribe" | "point">;
const NO_LIGHT: Lamp = {
  get: () => "",
  subscribe: () => () => undefined,
  point: () => undefined,
};

/** An SVG of devices as a tree: the picture of the hardware, the tree of its places, and the picture of a search. */
export function DeviceTree({
  root,
  svg,
  light = NO_LIGHT,
  onProblem,
  className,
  onDevice,
  onAsk,
  onFold,
  onKey,
}: Props) {
  const lit = useLit(light);
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

  const point = (event: SyntheticEvent) => {
    if (isDrawing.current) return;
    const item = (event.target as Element).closest(DEVICES);
    light.point(item?.getAttribute("data-id") ?? requestsOf(item)[0] ?? devicesOf(item)[0] ?? "");
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
      if (meant) light.point(meant);
      const [device] = devicesOf(item);
      if (device) onAsk?.(device);
    }
  };
  return (
    <div
      ref={root}
      className={className}
      onPointerOver={point}
      onPointerLeave={() => light.point("")}
      onFocus={point}
      onBlur={() => !isDrawing.current && light.point("")}
      onPointerDown={onPointerDown}
      onClick={onClick}
      onKeyDown={onKeyDown}
    />
  );
}

interface PictureProps {
  root: RefObject<HTMLDivElement | null>;
  light: Light;
  choosing: Choosing;
  /** Esc while devices are chosen. */
  onEnd(event: KeyboardEvent): void;
  onProblem(words: string): void;
  /** How much larger than 13 px text it is drawn, 1 for as it is. */
  zoom?: number;
}

/** The picture of the hardware, laid out for the space that it has here, with the devices that a person chose. */
export function Picture({ root, light, choosing, onEnd, onProblem, zoom = 1 }: PictureProps) {
  const channel = useChannel();
  const [svg, isStale, looked] = [useTrait("svg"), useTrait("stale"), useTrait("looked")];
  useOwnWidth(root);
  useOwnHeight(root, svg);
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
      light={light}
      onProblem={onProblem}
      className={names.filter(Boolean).join(" ")}
      onDevice={onDevice}
      onAsk={(device) => channel.send({ type: "node", name: channel.get("node"), device })}
      onFold={() => channel.set({ unfolded: !channel.get("unfolded") })}
      onKey={onEnd}
    />
  );
}
