// What is lit up: at once here, a moment later everywhere else.
import type { LitWidgetModel } from "../generated/models";
import type { Sync } from "./sync";
import { debounced } from "./view";

/** How long the pointer may run over things before the others are told, in milliseconds. */
const PAUSE = 70;

export interface Light {
  /** A request's name, a device id, or "". */
  readonly now: string;
  point(subject: string): void;
  onChange(draw: () => void): void;
}

/** Share `highlight` with the other views. */
export function highlight<M extends LitWidgetModel>(sync: Sync<M>): Light {
  let now: string = sync.get("highlight");
  const draws: (() => void)[] = [];
  const redraw = () => draws.forEach((draw) => void draw());
  const tell = debounced<string>(PAUSE, (subject) => sync.set("highlight", subject as M["highlight"]));
  sync.atEnd(tell.end);
  sync.watch(["highlight"], () => {
    now = sync.get("highlight");
    redraw();
  });
  return {
    get now() {
      return now;
    },
    point(subject) {
      if (subject === now) return;
      now = subject;
      redraw();
      tell.later(subject);
    },
    onChange: (draw) => void draws.push(draw),
  };
}

interface Named {
  badges: Readonly<Record<string, { letter: string }>>;
  chosen: Readonly<Record<string, string>>;
}

/** The request that is meant: by its own name, or as the one that a device is chosen for. */
export function requestOf<M extends Named>(sync: Sync<M>, subject: string): string {
  if (!subject) return "";
  const name = subject.split("/")[0] ?? "";
  return (
    sync.get("chosen")[subject] ??
    (sync.get("badges")[subject] ? subject : subject.split("/").length <= 2 && sync.get("badges")[name] ? name : "")
  );
}
