// The picture of a lesson: a student chooses devices on it, or looks at nodes; the answer is drawn once it is known.
import { useRef, useState } from "react";
import type { LessonPictureMessage, LessonPictureModel } from "../generated/models";
import { useLight } from "../view/light";
import { PaneProblem } from "../view/pane_problem";
import { hooksOf } from "../view/use_model";
import { FleetStrip } from "./fleet";
import { Picture } from "./picture";
import { ShowToggle } from "./show_toggle";
import { pressed } from "./use_choosing";

const { useChannel, useTrait } = hooksOf<LessonPictureModel, LessonPictureMessage>();

export function LessonPicture() {
  const channel = useChannel();
  const light = useLight(channel);
  const [isOn, picked, only] = [useTrait("picks"), useTrait("picked"), useTrait("only")];
  const [node, caption, problem, { best }] = [
    useTrait("node"),
    useTrait("caption"),
    useTrait("problem"),
    useTrait("fleet"),
  ];
  const [own, setOwn] = useState("");
  const root = useRef<HTMLDivElement>(null);
  const choosing = {
    isOn,
    picked: new Set(picked),
    turn: () => undefined,
    press: (devices: readonly string[], isBack: boolean) =>
      channel.set({ picked: [...pressed(new Set(picked), devices, isBack)] }),
  };
  return (
    <>
      <div className="dra-row dra-hardware-head">
        <h3>{only ? "Node" : best ? "Where it fits" : "Nodes"}</h3>
        {only ? <b className="dra-node-name">{only}</b> : <FleetStrip />}
      </div>
      <PaneProblem
        text={problem || own}
        onHide={() => {
          channel.send({ type: "dismiss-problem" });
          setOwn("");
        }}
      />
      <div className="dra-hardware-body dra-column">
        {!only && (
          <div className="dra-row dra-node-row">
            <span className="dra-node-title">
              <b className="dra-node-name">{node}</b>
              {caption && <span className="dra-hint dra-equal">{caption}</span>}
            </span>
            {best && <ShowToggle />}
          </div>
        )}
        <Picture root={root} light={light} choosing={choosing} onEnd={() => undefined} onProblem={setOwn} />
      </div>
    </>
  );
}
