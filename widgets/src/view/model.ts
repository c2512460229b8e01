// The one place where a widget touches its model: traits as React values, messages, whether its kernel lives, what is lit.

import { createContext, useCallback, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import type {
  ClaimCanvasMessage,
  ClusterBarMessage,
  HardwareViewMessage,
  LessonViewMessage,
  PlanViewMessage,
  PlanViewModel,
} from "../generated/models";
import { isEqual } from "./text";

/**
 * What the JupyterLab extension says on `window` when a notebook has lost its kernel: `detail.inside` are the pages.
 */
export const KERNEL_GONE = "dra-lab:kernel-gone";
/** What a view asks of the extension: run the cells up to its own. */
export const RUN_AGAIN = "dra-lab:run-again";

/** Events of a model after which nothing can be sent: its connection is lost, the kernel closed it, it is gone. */
const LAST = ["comm_live_update", "comm:close", "destroy"] as const;

class Life {
  private over = false;
  private readonly calls = new Set<() => void>();
  private readonly endings: (() => void)[] = [];

  constructor(model: Model, root?: Element) {
    const end = () => this.lose();
    for (const name of LAST) {
      model.on(name, end);
      this.endings.push(() => model.off(name, end));
    }
    const gone = (event: Event) => {
      const pages = (event as CustomEvent<{ inside?: Element[] } | null>).detail?.inside ?? [];
      if (root && pages.some((page) => page.contains(root))) this.lose();
    };
    window.addEventListener(KERNEL_GONE, gone);
    this.endings.push(() => window.removeEventListener(KERNEL_GONE, gone));
  }

  /** Whether nothing that is said here arrives any more; it never becomes false again. */
  readonly isOver = (): boolean => this.over;

  /** Call when it is over; returns what ends that. */
  readonly subscribe = (call: () => void): (() => void) => {
    this.calls.add(call);
    return () => this.calls.delete(call);
  };

  end(): void {
    for (const ending of this.endings.splice(0)) ending();
    this.calls.clear();
  }

  private lose(): void {
    if (this.over) return;
    this.over = true;
    for (const call of [...this.calls]) call();
  }
}

export const LOST = "The kernel has stopped. This is the last answer; run the cell to continue.";

/** Ask for the cells of an element to be run; returns whether somebody does it. */
export function runAgain(element: Element): boolean {
  return !window.dispatchEvent(new CustomEvent(RUN_AGAIN, { detail: { element }, cancelable: true }));
}

/** What is used of the model that anywidget gives to a widget. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
}

/** A model with traits `M` that takes messages `S`; nothing is written or sent once its kernel is gone. */
export class Channel<M extends object, S extends object> {
  readonly life: Life;

  constructor(
    private readonly model: Model,
    root?: Element,
  ) {
    this.life = new Life(model, root);
  }

  get<K extends keyof M & string>(name: K): M[K] {
    return this.model.get(name) as M[K];
  }

  /** Write values that Python takes as well, in one message; what is equal already is not sent. */
  set(values: Partial<M>): void {
    if (this.life.isOver()) return;
    const changed = Object.entries(values).filter(([name, value]) => this.model.get(name) !== value);
    for (const [name, value] of changed) this.model.set(name, value);
    if (changed.length) this.model.save_changes();
  }

  /** Change values for the views of this page only; `save` tells Python. */
  show(values: Partial<M>): void {
    if (this.life.isOver()) return;
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
  }

  save(): void {
    if (!this.life.isOver()) this.model.save_changes();
  }

  send(message: S, piece?: ArrayBuffer): void {
    if (this.life.isOver()) return;
    if (piece) this.model.send(message, undefined, [piece]);
    else this.model.send(message);
  }

  /** Call after each change of a trait; returns what ends that. */
  on(name: keyof M & string, call: () => void): () => void {
    this.model.on(`change:${name}`, call);
    return () => this.model.off(`change:${name}`, call);
  }
}

// React's view of a model: its traits as values that draw again when they change, and the way to send messages.
/** A message of any widget. */
export type AnyMessage =
  | ClaimCanvasMessage
  | ClusterBarMessage
  | HardwareViewMessage
  | LessonViewMessage
  | PlanViewMessage;
type AnyChannel = Channel<Record<string, unknown>, object>;

export const ChannelContext = createContext<AnyChannel | null>(null);

export function useAnyChannel(): AnyChannel {
  const channel = useContext(ChannelContext);
  if (!channel) throw new Error("used outside of a widget");
  return channel;
}

/**
 * The value of a trait, the same object as long as it says the same: the echo of our own change comes back from the
 * kernel as an equal copy, and would look like a change.
 */
export function useAnyTrait(name: string): unknown {
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

/** Milliseconds that the pointer may run over things before the other views are told. */
const PAUSE = 70;

/** Returns what lights up a request's name, a device id, or "": at once here, a moment later in the other views. */
export function useLight(channel: Channel<Pick<PlanViewModel, "highlight">, never>): Point {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(
    (subject) => {
      if (subject === channel.get("highlight")) return;
      channel.show({ highlight: subject });
      clearTimeout(timer.current);
      timer.current = setTimeout(() => channel.save(), PAUSE);
    },
    [channel],
  );
}
export type Point = (subject: string) => void;

interface Named {
  badges: Readonly<Record<string, { letter: string }>>;
  chosen: Readonly<Record<string, string>>;
}

/** The request that is meant: by its own name, or as the one that a device is chosen for. */
export function requestOf({ badges, chosen }: Named, subject: string): string {
  if (!subject) return "";
  const name = subject.split("/")[0] ?? "";
  return chosen[subject] ?? (badges[subject] ? subject : subject.split("/").length <= 2 && badges[name] ? name : "");
}
