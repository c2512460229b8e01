// HardwareView: the nodes that serve the drawing, and one of them as a picture of its hardware.
import "../hardware_view.css";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button } from "../components/button";
import { PaneProblem } from "../components/content";
import { Choice } from "../components/inputs";
import type { ExampleRow, LessonPictureMessage, LessonPictureModel } from "../generated/models";
import { TracePane } from "../trace/trace_pane";
import { FullScreen } from "../view/grid";
import type { Context } from "../view/late";
import { hooksOf, type Point, useLight } from "../view/model";
import { counted } from "../view/text";
import { mount } from "../view/widget";
import { FleetStrip } from "./fleet";
import { useChannel, useTrait } from "./model";
import { DeviceTree, Picture } from "./picture";
import { DriverKinds, PictureMenu } from "./picture_menu";

// Devices chosen on the picture, and whether a person is choosing.
const NONE: ReadonlySet<string> = new Set();

export interface Choosing {
  readonly isOn: boolean;
  readonly picked: ReadonlySet<string>;
  turn(isOn: boolean): void;
  /** Choose a device or give it up; of a block of like devices choose one more, or with `isBack` one less. */
  press(devices: readonly string[], isBack: boolean): void;
}

/** The chosen devices after a press on an item that stands for `devices`. */
function pressed(picked: ReadonlySet<string>, devices: readonly string[], isBack: boolean): ReadonlySet<string> {
  const next = new Set(picked);
  const [free, held] = [devices.find((one) => !next.has(one)), [...devices].reverse().find((one) => next.has(one))];
  if (held !== undefined && (isBack || free === undefined)) next.delete(held);
  else if (free !== undefined && !isBack) next.add(free);
  return next;
}

function useChoosing(): Choosing {
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

// Which allocation the picture shows.
const SHOWN = [
  { value: "best", label: "Best", title: "The best allocation" },
  { value: "scheduler", label: "Scheduler", title: "What kube-scheduler allocates with this manifest" },
  {
    value: "plain",
    label: "Scheduler, no links",
    title: "What kube-scheduler allocates with counts and selectors only",
  },
  { value: "both", label: "Difference", title: "The best allocation and kube-scheduler's over each other" },
] as const;

function ShowToggle() {
  const channel = useChannel();
  return (
    <Choice
      label="Shown on the picture"
      options={SHOWN}
      value={useTrait("show")}
      onChoose={(show) => channel.set({ show })}
    />
  );
}

/** `toggle` chooses what is drawn. */
function NodeRow({ toggle, children }: { toggle: ReactNode; children: ReactNode }) {
  const [name, caption, best] = [useTrait("node"), useTrait("caption"), useTrait("fleet").best ?? ""];
  const pinned = useTrait("pinned");
  return (
    <div className="dra-row dra-node-row">
      <span className="dra-node-title">
        <b>{name}</b>
        {caption && <span className="dra-hint"> {caption}</span>}
      </span>
      {best && best !== name && (
        <Button kind="link" data-key="back" send={{ type: "node", name: best }}>
          Show the best
        </Button>
      )}
      {toggle}
      <span className="dra-row">
        <Button
          icon="pin"
          data-key="pin"
          title={pinned ? `The plan uses only ${pinned}; press to let it choose the best node` : `Plan on ${name} only`}
          label={pinned ? undefined : "Plan here"}
          send={{ type: "pin", node: pinned ? "" : name }}
          className={pinned ? "is-on" : undefined}
        >
          {pinned ? "Best node again" : <span className="dra-word">Plan here</span>}
        </Button>
        {children}
      </span>
    </div>
  );
}

// The claims that ask for devices such as those that are chosen on the picture.
const HINT =
  "Choose devices on the picture: click them, or move with the arrows and press Space. " +
  "A block adds one device with each click. Esc ends.";

function ByExample({ choosing, onEnd }: { choosing: Choosing; onEnd(event: KeyboardEvent): void }) {
  const examples = useTrait("examples");
  const { isOn, picked } = choosing;
  const chosen = `${counted(picked.size, "device")} chosen. Claims that ask for such devices, the most general first:`;
  return (
    <section
      className="dra-card dra-pane dra-by-example"
      aria-label="Claim by example"
      hidden={!isOn}
      onKeyDown={onEnd}
    >
      <p className="dra-hint" role="status">
        {picked.size ? chosen : HINT}
      </p>
      <ol className="dra-stack dra-examples">
        {isOn &&
          picked.size > 0 &&
          examples?.map((row, number) => (
            <Example key={row.title} row={row} number={number} onTaken={() => choosing.turn(false)} />
          ))}
      </ol>
    </section>
  );
}

function Example({ row, number, onTaken }: { row: ExampleRow; number: number; onTaken(): void }) {
  const channel = useChannel();
  const take = (add: boolean) => () => {
    channel.send({ type: "take-example", number, add });
    onTaken();
  };
  return (
    <li>
      <b>{row.title}</b>
      <pre className="dra-example">{(row.lines ?? []).join("\n")}</pre>
      <span className="dra-hint">{row.matching ?? ""}</span>
      <span className="dra-row">
        <Button data-key={`use-${number}`} onClick={take(false)}>
          Use as the drawing
        </Button>
        <Button data-key={`add-${number}`} onClick={take(true)}>
          Add to the drawing
        </Button>
      </span>
    </li>
  );
}

/** `back` is the button that opens it. */
function GraphPanel({ back, point }: { back: RefObject<HTMLButtonElement | null>; point: Point }) {
  const channel = useChannel();
  const [svg, node] = [useTrait("graph"), useTrait("node")];
  const button = useRef<HTMLButtonElement>(null);
  const tree = useRef<HTMLDivElement>(null);
  const isOpen = Boolean(svg);
  useLayoutEffect(() => {
    if (isOpen) button.current?.focus();
  }, [isOpen]);
  const close = () => {
    channel.send({ type: "close-graph" });
    back.current?.focus();
  };
  return (
    <section
      className="dra-card dra-graph"
      aria-label="PCIe and NUMA graph"
      hidden={!isOpen}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      {isOpen && (
        <>
          <div className="dra-row dra-graph-head">
            <h3>Graph of {node}</h3>
            <span className="dra-gap" />
            <Button icon="cross" ref={button} onClick={close}>
              Close
            </Button>
          </div>
          <DeviceTree root={tree} svg={svg} point={point} onProblem={() => {}} className="dra-pane" />
        </>
      )}
    </section>
  );
}

// The picture of a lesson: a student chooses devices on it, or looks at nodes; the answer is drawn once it is known.
const { useChannel: useLessonChannel, useTrait: useLessonTrait } = hooksOf<LessonPictureModel, LessonPictureMessage>();

function LessonPicture() {
  const channel = useLessonChannel();
  const point = useLight(channel);
  const [isOn, picked, only] = [useLessonTrait("picks"), useLessonTrait("picked"), useLessonTrait("only")];
  const [node, caption, { best }] = [useLessonTrait("node"), useLessonTrait("caption"), useLessonTrait("fleet")];
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
        {only ? <b>{only}</b> : <FleetStrip />}
      </div>
      <PaneProblem own={own} onHide={() => setOwn("")} />
      <div className="dra-hardware-body dra-column dra-fill">
        {!only && (
          <div className="dra-row dra-node-row">
            <span className="dra-node-title">
              <b>{node}</b>
              {caption && <span className="dra-hint"> {caption}</span>}
            </span>
            {best && <ShowToggle />}
          </div>
        )}
        <Picture root={root} point={point} choosing={choosing} onEnd={() => undefined} onProblem={setOwn} />
      </div>
    </>
  );
}

function HardwareView() {
  const mode = useTrait("mode");
  return mode === "trace" ? <TracePane /> : mode === "lesson" ? <LessonPicture /> : <NodePicture />;
}

function NodePicture() {
  const channel = useChannel();
  const point = useLight(channel);
  const [svg, graphSvg] = [useTrait("svg"), useTrait("graph")];
  const [empty, action] = [useTrait("empty"), useTrait("empty_action")];
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
  return (
    <>
      <div className="dra-row dra-hardware-head">
        <h3>Where it fits</h3>
        <FleetStrip />
      </div>
      <PaneProblem own={own} onHide={() => setOwn("")} />
      <div className="dra-empty-state" hidden={!empty}>
        <p>{empty}</p>
        {action && (
          <Button kind="primary" send={{ type: "sample" }}>
            {action}
          </Button>
        )}
      </div>
      <div className="dra-hardware-body dra-column dra-fill" hidden={!svg}>
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
            send={{ type: graphSvg ? "close-graph" : "graph" }}
          >
            <span className="dra-word">Graph</span>
          </Button>
          <DriverKinds />
          <PictureMenu picture={picture} onProblem={setOwn} zoom={zoom} onZoom={setZoom} />
          <FullScreen of=".dra-hardware" className="dra-word" />
        </NodeRow>
        <div className="dra-beside dra-fill">
          <Picture
            root={picture}
            point={point}
            choosing={choosing}
            onEnd={endChoosing}
            onProblem={setOwn}
            zoom={zoom}
          />
          <GraphPanel back={graph} point={point} />
        </div>
        <ByExample choosing={choosing} onEnd={endChoosing} />
      </div>
    </>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-hardware", HardwareView);
