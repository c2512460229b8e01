// Devices chosen on the picture, and whether a person is choosing.
import { useEffect, useRef, useState } from "react";
import { useChannel, useTrait } from "./model";

const NONE: ReadonlySet<string> = new Set();

export interface Choosing {
  readonly isOn: boolean;
  readonly picked: ReadonlySet<string>;
  turn(isOn: boolean): void;
  /** Choose a device or give it up; of a block of like devices choose one more, or with `isBack` one less. */
  press(devices: readonly string[], isBack: boolean): void;
}

/** The chosen devices after a press on an item that stands for `devices`. */
export function pressed(picked: ReadonlySet<string>, devices: readonly string[], isBack: boolean): ReadonlySet<string> {
  const next = new Set(picked);
  const [free, held] = [devices.find((one) => !next.has(one)), [...devices].reverse().find((one) => next.has(one))];
  if (held !== undefined && (isBack || free === undefined)) next.delete(held);
  else if (free !== undefined && !isBack) next.add(free);
  return next;
}

export function useChoosing(): Choosing {
  const channel = useChannel();
  const node = useTrait("node");
  const [isOn, setOn] = useState(false);
  const [picked, setPicked] = useState(NONE);
  const shownNode = useRef(node);
  const pick = (devices: ReadonlySet<string>) => {
    setPicked(devices);
    channel.send({ type: "by-example", devices: [...devices] });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when another node is shown
  useEffect(() => {
    if (shownNode.current !== node && isOn) pick(NONE);
    shownNode.current = node;
  }, [node]);
  const turn = (to: boolean) => {
    setOn(to);
    pick(NONE);
  };
  const press = (devices: readonly string[], isBack: boolean) => pick(pressed(picked, devices, isBack));
  return { isOn, picked, turn, press };
}
