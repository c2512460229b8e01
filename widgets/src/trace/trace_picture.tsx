// The picture of the node with the devices that the search holds; the device of the present step is marked.
import { useLayoutEffect, useRef } from "react";
import { classes } from "../components/classes";
import { useChannel, useTrait } from "../hardware/model";
import { DeviceTree } from "../hardware/picture";
import { DEVICES, devicesOf } from "../hardware/tree";

const MEANING: Readonly<Record<string, string>> = {
  rejected: "rejected in this step",
  allocated: "allocated in this step",
  "given-back": "given back in this step",
};

export function TracePicture({ onProblem }: { onProblem(words: string): void }) {
  const channel = useChannel();
  const [svg, now, isPredicting] = [useTrait("trace_svg"), useTrait("trace_now"), useTrait("trace_predict")];
  const { picked } = useTrait("trace_prediction");
  const root = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const item of root.current?.querySelectorAll(DEVICES) ?? []) {
      const isNow = Boolean(now.device) && devicesOf(item).includes(now.device ?? "");
      item.classList.toggle("dra-trace-now", isNow);
      if (isNow) item.setAttribute("data-step", now.kind ?? "");
      else item.removeAttribute("data-step");
      item.classList.toggle("dra-trace-picked", isPredicting && devicesOf(item).includes(picked ?? ""));
    }
    // only once the picture has its size
    const frame = requestAnimationFrame(() =>
      root.current?.querySelector(".dra-trace-now")?.scrollIntoView?.({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [svg, now.device, now.kind, isPredicting, picked]);

  const predict = (item: Element) => {
    const [device] = devicesOf(item);
    if (device) channel.send({ type: "predict", device });
    return true;
  };
  const meaning = MEANING[now.kind ?? ""];
  return (
    <div className="dra-trace-hardware dra-column">
      <DeviceTree
        root={root}
        svg={svg}
        className={classes("dra-picture", isPredicting && "is-choosing")}
        onProblem={onProblem}
        onDevice={isPredicting ? predict : undefined}
      />
      <p className="dra-hint dra-row dra-trace-legend" aria-hidden="true">
        {meaning && (
          <>
            <span className="dra-swatch dra-trace-swatch" data-step={now.kind} /> {meaning}
          </>
        )}
      </p>
    </div>
  );
}
