// The claims that ask for devices such as those that are chosen on the picture.

import type { KeyboardEvent } from "react";
import { Button } from "../components/button";
import type { ExampleRow } from "../generated/models";
import { counted } from "../view/words";
import { useChannel, useTrait } from "./model";
import type { Choosing } from "./use_choosing";

const HINT =
  "Choose devices on the picture: click them, or move with the arrows and press Space. " +
  "A block adds one device with each click. Esc ends.";

export function ByExample({ choosing, onEnd }: { choosing: Choosing; onEnd(event: KeyboardEvent): void }) {
  const examples = useTrait("examples");
  const { isOn, picked } = choosing;
  const chosen = `${counted(picked.size, "device")} chosen. Claims that ask for such devices, the most general first:`;
  return (
    <section className="dra-card dra-by-example" aria-label="Claim by example" hidden={!isOn} onKeyDown={onEnd}>
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
