// What is lit up: at once here, a moment later everywhere else.
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { PlanViewModel } from "../generated/models";
import type { Channel } from "./channel";

type Highlighted = Pick<PlanViewModel, "highlight">;

/** How long the pointer may run over things before the others are told, in milliseconds. */
const PAUSE = 70;

/** A request's name, a device id, or "", shared with the other views through the trait `highlight`. */
export class Light {
  private now: string;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly calls = new Set<() => void>();

  constructor(private readonly channel: Channel<Highlighted, never>) {
    this.now = channel.get("highlight");
  }

  readonly get = (): string => this.now;

  readonly subscribe = (call: () => void): (() => void) => {
    this.calls.add(call);
    return () => this.calls.delete(call);
  };

  readonly point = (subject: string): void => {
    if (subject === this.now) return;
    this.show(subject);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.channel.set({ highlight: subject }), PAUSE);
  };

  /** Follow the trait; returns what ends that. */
  readonly follow = (): (() => void) => {
    const end = this.channel.on("highlight", () => this.show(this.channel.get("highlight")));
    return () => {
      end();
      clearTimeout(this.timer);
    };
  };

  private show(subject: string): void {
    this.now = subject;
    for (const call of [...this.calls]) call();
  }
}

/** The light of a widget, for as long as it lives. */
export function useLight(channel: Channel<Highlighted, never>): Light {
  const light = useMemo(() => new Light(channel), [channel]);
  useEffect(() => light.follow(), [light]);
  return light;
}

/** What is lit at present. */
export const useLit = (light: Pick<Light, "get" | "subscribe">): string =>
  useSyncExternalStore(light.subscribe, light.get);

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
