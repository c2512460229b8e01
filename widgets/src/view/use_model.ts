// React's view of a model: its traits as values that draw again when they change, and the way to send messages.
import { createContext, useCallback, useContext, useRef, useSyncExternalStore } from "react";
import type { Channel } from "./channel";
import { isEqual } from "./equal";

type AnyChannel = Channel<Record<string, unknown>, object>;

export const ChannelContext = createContext<AnyChannel | null>(null);

function useAnyChannel(): AnyChannel {
  const channel = useContext(ChannelContext);
  if (!channel) throw new Error("used outside of a widget");
  return channel;
}

/**
 * The value of a trait, the same object as long as it says the same: the echo of our own change comes back from the
 * kernel as an equal copy, and would look like a change.
 */
function useAnyTrait(name: string): unknown {
  const channel = useAnyChannel();
  const subscribe = useCallback((changed: () => void) => channel.on(name, changed), [channel, name]);
  const kept = useRef<{ raw: unknown; value: unknown } | null>(null);
  return useSyncExternalStore(subscribe, () => {
    const raw = channel.get(name);
    const last = kept.current;
    if (last && last.raw === raw) return last.value;
    kept.current = { raw, value: last && isEqual(raw, last.value) ? last.value : raw };
    return kept.current.value;
  });
}

/** Return the hooks of a widget whose model has the traits `M` and takes the messages `S`. */
export function hooksOf<M extends object, S extends object>() {
  return {
    useChannel: useAnyChannel as unknown as () => Channel<M, S>,
    useTrait: useAnyTrait as <K extends keyof M & string>(name: K) => M[K],
  };
}

/** Whether the kernel behind a widget is gone. */
export function useIsLost(): boolean {
  const { life } = useAnyChannel();
  return useSyncExternalStore(life.subscribe, life.isOver);
}
