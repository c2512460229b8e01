// The width of the picture: it is drawn once for all views of a model, so it is laid out for the narrowest of them.
import { type RefObject, useEffect } from "react";
import { useChannel } from "./model";

/** Milliseconds for which a width has to stay before the picture is laid out for it. */
const PAUSE = 120;
/** What the pane keeps for its scroll bar, and the least change that is worth another picture, in pixels. */
const [BAR, STEP] = [14, 8];
/** Wider than any picture: a view that goes lets the others say how wide they are. */
const FREE = 4096;

/** What a view's width needs of its channel. */
export interface WidthChannel {
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
export function useOwnWidth(root: RefObject<HTMLElement | null>): void {
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
