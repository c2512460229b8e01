// What every widget does around its content: its classes, the notebook's shortcuts, the focus, and an orderly end.
import type { ComponentType } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { suppressShortcuts } from "../jupyter";
import { Channel, type Model } from "./channel";
import { keepFocus } from "./keep_focus";
import type { Context } from "./late";
import { Lost } from "./lost";
import { ChannelContext, useIsLost } from "./use_model";

/** The class of the views that are no canvas: the canvas says on its board that its kernel is gone. */
const VIEW = "dra-view";
const LOST = "is-lost";

// Every widget of a page has a copy of this module, so a counter alone would begin again in each.
const COPY = Math.random().toString(36).slice(2, 8);
let roots = 0;

/** Draw `View` into an element for as long as it lives; returns what ends everything that was begun. */
export function mount({ model, el }: Context, className: string, View: ComponentType): () => void {
  const classes = ["dra-widget", ...className.split(" ").filter(Boolean)];
  el.classList.add(...classes);
  const channel = new Channel<Record<string, unknown>, object>(model as Model, el);
  channel.life.subscribe(() => el.classList.add(LOST));
  const endings = [suppressShortcuts(el), keepFocus(el), () => channel.life.end()];
  roots += 1;
  const root = createRoot(el, { identifierPrefix: `dra-${COPY}-${roots}-` });
  const content = (
    <ChannelContext value={channel}>
      <View />
      {classes.includes(VIEW) && <LostLine />}
    </ChannelContext>
  );
  // At once, so that a widget is never blank.
  flushSync(() => root.render(content));
  return () => {
    for (const end of endings) end();
    root.unmount();
    el.classList.remove(...classes, LOST);
  };
}

function LostLine() {
  return useIsLost() && <Lost className="dra-line dra-lost" />;
}
