// What is chosen: a node with its pods and its picture, or the nodes of a group.

import { type ComponentProps, type MouseEvent, useLayoutEffect, useRef, useState } from "react";
import { Button, classes } from "../components/button";
import { Card, Lines } from "../components/content";
import { useMenu } from "../components/popover";
import type { PodsRow, WhyNotRow } from "../generated/models";
import { safeSvg } from "../hardware/tree";
import { useChannel, useTrait } from "../plan/model";
import { Bars as TestBars } from "../plan/why_not";
import { keyed } from "../view/text";
import { BarList } from "./bars";
import { FormButton } from "./what_if";

export function NodeCard() {
  const channel = useChannel();
  const {
    id = "",
    title = "",
    node = false,
    cordoned = false,
    lines = [],
    pods = [],
    rows = [],
    svg = "",
    why,
  } = useTrait("fleet_card");
  const { by = "nodes" } = useTrait("fleet_bars");
  const isOpen = useTrait("fleet_picture");
  const chosen = useTrait("fleet_chosen");
  if (!id)
    return (
      <p className="dra-dim">
        {by === "nodes"
          ? "Choose a node for its pods and its picture. Drag a pod to another node to pin it there."
          : "Choose a row for its nodes."}
      </p>
    );
  return (
    <Card
      title={title}
      tools={
        node && (
          <>
            <Button pressed={isOpen} onClick={() => channel.set({ fleet_picture: !isOpen })}>
              {isOpen ? "Close the picture" : "Open hardware picture"}
            </Button>
            <Button send={{ type: "add-layer", change: "drain", subject: id }}>Drain this node</Button>
            {cordoned && (
              <Button send={{ type: "add-layer", change: "uncordon", subject: id }}>Uncordon this node</Button>
            )}
          </>
        )
      }
    >
      <Lines lines={lines} />
      {pods.map((pod) => (
        <PodLine key={pod.workload} pod={pod} node={id} />
      ))}
      {rows.length > 0 && chosen.includes("/") && <BarList rows={rows} isGrouped={false} label={`Nodes of ${title}`} />}
      {why?.title && <Why why={why} />}
      {svg && <Picture svg={svg} />}
    </Card>
  );
}

/** Why devices of the node are stranded: the tests of the planner, and what would make some of them usable. */
function Why({ why }: { why: WhyNotRow }) {
  return (
    <section className="dra-stack dra-ruled" aria-label={why.title}>
      <h4>{why.title}</h4>
      <Lines lines={why.lines} />
      <div>
        {keyed(why.requests ?? [], (row) => row.title).map(([key, row]) => (
          <TestBars key={key} row={row} />
        ))}
      </div>
    </section>
  );
}

function PodLine({ pod, node }: { pod: PodsRow; node: string }) {
  const channel = useChannel();
  const { workload, count, pinned = 0 } = pod;
  // the planner chooses the nodes of a gang
  const isGang = useTrait("fleet_workloads").some((one) => one.name === workload && one.gang);
  return (
    <div className="dra-row">
      <span className="dra-letter" aria-hidden="true">
        {pod.letter}
      </span>
      <span>
        {count.toLocaleString("en")} × {workload}
        {pinned > 0 && <span className="dra-dim"> · {pinned.toLocaleString("en")} pinned here</span>}
      </span>
      {count > pinned && !isGang && (
        <Button send={{ type: "pin-pods", name: workload, node, pods: count }}>Pin here</Button>
      )}
      {pinned > 0 && <Button send={{ type: "pin-pods", name: workload, node, pods: 0 }}>Unpin</Button>}
      {count > 0 && !isGang && (
        <FormButton
          label="Pin to…"
          title={`Pin one pod of ${workload} to another node`}
          action="Pin"
          fields={[{ key: "node", label: "Node", kind: "node" }]}
          onDone={({ node: to = "" }) => channel.send({ type: "move-pod", name: workload, fromNode: node, toNode: to })}
        />
      )}
    </div>
  );
}

/** The hardware of the node with all its pods; right-click a device to break it. */
function Picture({ svg }: { svg: string }) {
  const channel = useChannel();
  const menu = useMenu();
  const onContextMenu = (event: MouseEvent) => {
    const device = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
    if (!device) return;
    event.preventDefault();
    menu(event, device, [
      {
        label: "Remove this device",
        act: () => channel.send({ type: "add-layer", change: "without", subject: device }),
      },
      { label: "Taint this device", act: () => channel.send({ type: "add-layer", change: "taint", subject: device }) },
    ]);
  };
  return <SvgPicture svg={svg} className="dra-fleet-picture" onContextMenu={onContextMenu} />;
}

/** A picture that Python has drawn. */
export function SvgPicture({ svg, className, ...others }: { svg: string } & ComponentProps<"div">) {
  const root = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    try {
      root.current?.replaceChildren(safeSvg(svg));
      setProblem("");
    } catch (error) {
      root.current?.replaceChildren();
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }, [svg]);
  return (
    <>
      {problem && <p className="dra-wrong">{problem}</p>}
      <div ref={root} className={classes("dra-svg", className)} {...others} />
    </>
  );
}
