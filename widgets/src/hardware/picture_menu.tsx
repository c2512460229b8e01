// The picture as a file or on the clipboard: made here, so nothing leaves the machine.
import { type RefObject, useRef, useState } from "react";
import { Icon } from "../view/icon";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";
import { copyPng, save, toPng, toSvg } from "./png";

interface Props {
  /** Where the picture is: its colours are those of the file. */
  picture: RefObject<HTMLDivElement | null>;
  /** Says what went wrong, "" when nothing did. */
  onProblem(words: string): void;
}

export function PictureMenu({ picture, onProblem }: Props) {
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
      <button {...menu.button} className="dra-button" aria-label="Picture" title="Copy or save the picture">
        <Icon name="image" />
        <span className="dra-word">Picture</span>
        <Icon name="down" />
      </button>
      <div {...menu.panel} className="dra-popover dra-picture-menu" role="dialog" aria-label="Picture">
        <button
          ref={first}
          type="button"
          className="dra-button"
          onClick={run(async (place) => copyPng(toPng(svg, place)))}
        >
          <Icon name="copy" />
          Copy the picture
        </button>
        <button
          type="button"
          className="dra-button"
          onClick={run(async (place) => saving(new Blob([toSvg(svg, place)], { type: "image/svg+xml" }), "svg"))}
        >
          <Icon name="file" />
          Save as SVG
        </button>
        <button
          type="button"
          className="dra-button"
          onClick={run(async (place) => saving(await toPng(svg, place), "png"))}
        >
          <Icon name="image" />
          Save as PNG
        </button>
        <p className="dra-hint" role="status">
          {told}
        </p>
      </div>
    </>
  );
}
