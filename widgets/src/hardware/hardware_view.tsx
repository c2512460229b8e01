// HardwareView: the nodes that serve the drawing, and one of them as a picture of its hardware.
import { Button } from "../components/button";
import "../hardware_view.css";
import { type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { TracePane } from "../trace/trace_pane";
import type { Context } from "../view/late";
import { useLight } from "../view/light";
import { PaneProblem } from "../view/pane_problem";
import { mount } from "../view/widget";
import { ByExample } from "./by_example";
import { DriverKinds } from "./driver_kinds";
import { FleetStrip } from "./fleet";
import { GraphPanel } from "./graph_panel";
import { LessonPicture } from "./lesson_picture";
import { useChannel, useTrait } from "./model";
import { NodeRow } from "./node_row";
import { Picture } from "./picture";
import { PictureMenu } from "./picture_menu";
import { ShowToggle } from "./show_toggle";
import { useChoosing } from "./use_choosing";

function HardwareView() {
  const mode = useTrait("mode");
  return mode === "trace" ? <TracePane /> : mode === "lesson" ? <LessonPicture /> : <NodePicture />;
}

function NodePicture() {
  const channel = useChannel();
  const light = useLight(channel);
  const [svg, problem, graphSvg] = [useTrait("svg"), useTrait("problem"), useTrait("graph")];
  const [own, setOwn] = useState("");
  const choosing = useChoosing();
  const picture = useRef<HTMLDivElement>(null);
  const graph = useRef<HTMLButtonElement>(null);
  const example = useRef<HTMLButtonElement>(null);
  const [zoom, setZoom] = useState(1);
  const endChoosing = (event: KeyboardEvent) => {
    if (!choosing.isOn || event.key !== "Escape") return;
    event.preventDefault();
    choosing.turn(false);
    example.current?.focus();
  };
  const hideProblem = () => {
    channel.send({ type: "dismiss-problem" });
    setOwn("");
  };
  return (
    <>
      <div className="dra-row dra-hardware-head">
        <h3>Where it fits</h3>
        <FleetStrip />
      </div>
      <PaneProblem text={problem || own} onHide={hideProblem} />
      <EmptyState />
      <div className="dra-hardware-body dra-column" hidden={!svg}>
        <NodeRow toggle={<ShowToggle />}>
          <Button
            icon="check"
            ref={example}
            pressed={choosing.isOn}
            label="By example"
            title="Select devices and get a claim that requests such devices"
            onClick={() => choosing.turn(!choosing.isOn)}
          >
            <span className="dra-word">By example</span>
          </Button>
          <Button
            icon="graph"
            ref={graph}
            pressed={Boolean(graphSvg)}
            label="Graph"
            title="The PCIe and NUMA tree beside the picture"
            onClick={() => channel.send({ type: graphSvg ? "close-graph" : "graph" })}
          >
            <span className="dra-word">Graph</span>
          </Button>
          <DriverKinds />
          <PictureMenu picture={picture} onProblem={setOwn} zoom={zoom} onZoom={setZoom} />
          <FullScreen picture={picture} />
        </NodeRow>
        <div className="dra-beside">
          <Picture
            root={picture}
            light={light}
            choosing={choosing}
            onEnd={endChoosing}
            onProblem={setOwn}
            zoom={zoom}
          />
          <GraphPanel back={graph} light={light} />
        </div>
        <ByExample choosing={choosing} onEnd={endChoosing} />
      </div>
    </>
  );
}

/** The whole screen for the nodes and the picture, which is laid out again for that width. */
function FullScreen({ picture }: { picture: RefObject<HTMLDivElement | null> }) {
  if (!document.fullscreenEnabled) return null;
  const turn = () => {
    const view = picture.current?.closest(".dra-hardware");
    return document.fullscreenElement ? document.exitFullscreen() : view?.requestFullscreen();
  };
  return (
    <Button
      icon="fit"
      label="Full screen"
      title="The picture on the whole screen (Esc ends)"
      onClick={() => void turn()}
    >
      <span className="dra-word">Full screen</span>
    </Button>
  );
}

/** Nothing to show: one sentence and one thing to do. */
function EmptyState() {
  const channel = useChannel();
  const [words, action] = [useTrait("empty"), useTrait("empty_action")];
  return (
    <div className="dra-empty-state" hidden={!words}>
      <p>{words}</p>
      {action && (
        <Button kind="primary" onClick={() => channel.send({ type: "sample" })}>
          {action}
        </Button>
      )}
    </div>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-hardware", HardwareView);
