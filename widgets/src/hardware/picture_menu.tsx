// The picture as a file or on the clipboard: made here, so nothing leaves the machine.

import { type RefObject, useRef, useState } from "react";
import { Button } from "../components/button";
import { Choice } from "../components/choice";
import { Popover } from "../components/popover";
import { Icon } from "../view/icon";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";
import { copyPng, save, toPng, toSvg } from "./png";

interface Props {
  /** Where the picture is: its colours are those of the file. */
  picture: RefObject<HTMLDivElement | null>;
  /** Says what went wrong, "" when nothing did. */
  onProblem(words: string): void;
  zoom: number;
  onZoom(zoom: number): void;
}

/** The zooms, as percent. */
const ZOOMS = [50, 75, 100, 125, 150, 200];

export function PictureMenu({ picture, onProblem, zoom, onZoom }: Props) {
  const channel = useChannel();
  const svg = useTrait("svg");
  const first = useRef<HTMLButtonElement>(null);
  const [told, setTold] = useState("");
  const menu = usePopover({ first: () => first.current, onOpen: () => setTold("") });
  const name = () => channel.get("node").replace(/[^A-Za-z0-9._-]+/g, "-") || "node";
  const run = (act: (place: HTMLElement) => Promise<string>) => async () => {
    if (!picture.current) return;
    try {
      setTold(await act(picture.current));
      onProblem("");
    } catch (error) {
      setTold("");
      onProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const saving = (blob: Blob, ending: string) => {
    save(blob, `${name()}.${ending}`);
    return `Saved as ${name()}.${ending}`;
  };
  return (
    <>
      <Button icon="image" {...menu.button} label="Picture" title="Zoom, copy or save the picture">
        <span className="dra-word">Picture</span>
        <Icon name="down" />
      </Button>
      <Popover over={menu} title="Picture" isBare className="dra-picture-menu">
        <Button icon="copy" ref={first} onClick={run(async (place) => copyPng(toPng(svg, place)))}>
          Copy the picture
        </Button>
        <Button
          icon="file"
          onClick={run(async (place) => saving(new Blob([toSvg(svg, place)], { type: "image/svg+xml" }), "svg"))}
        >
          Save as SVG
        </Button>
        <Button icon="image" onClick={run(async (place) => saving(await toPng(svg, place), "png"))}>
          Save as PNG
        </Button>
        <Choice
          label="Zoom"
          options={ZOOMS.map((percent) => ({ value: `${percent}`, label: `${percent} %` }))}
          value={`${zoom * 100}`}
          onChoose={(percent) => onZoom(Number(percent) / 100)}
        />
        <p className="dra-hint" role="status">
          {told}
        </p>
      </Popover>
    </>
  );
}
