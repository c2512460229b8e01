// The menus of the picture: zoom, copy and save, made here so that nothing leaves the machine; the kinds of unknown drivers.

import { type RefObject, useRef, useState } from "react";
import { Button, CopyButton, Icon } from "../components/button";
import { Choice, optionsOf, Select } from "../components/inputs";
import { Popover, usePopover } from "../components/popover";
import type { DriverKindRow } from "../generated/models";
import { saveText, selectAll } from "../view/text";
import { useChannel, useTrait } from "./model";
import { safeSvg } from "./tree";

/** Pixels of the file for one of the screen. */
const SCALE = 2;
const STYLED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "display",
] as const;

/** Copy a picture with the colours that it has on the screen: a file knows nothing of the page's theme. */
function standalone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [
    [svg, ...svg.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  from.forEach((node, i) => {
    if (["style", "title", "desc"].includes(node.localName)) return;
    const [seen, made] = [getComputedStyle(node), to[i] as SVGElement];
    for (const name of STYLED) {
      const value = seen.getPropertyValue(name);
      if (value) made.style.setProperty(name, value);
    }
    made.removeAttribute("tabindex");
  });
  for (const style of copy.querySelectorAll("style")) style.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy;
}

/** Return a picture with the colours and the ground that it has inside `place`. */
function painted(text: string, place: HTMLElement): { svg: SVGSVGElement; width: number; height: number } {
  const stage = document.createElement("div");
  stage.style.cssText = "position:absolute;left:-100000px;top:0";
  const svg = safeSvg(text);
  stage.append(svg);
  place.append(stage);
  const { width, height } = svg.viewBox.baseVal;
  const copy = standalone(svg);
  stage.remove();
  return { svg: copy, width, height };
}

/** Return the text of an SVG file of a picture as it looks inside `place`. */
function toSvg(text: string, place: HTMLElement): string {
  return new XMLSerializer().serializeToString(painted(text, place).svg);
}

/** Make the PNG of a picture as it looks inside `place`, on its background. Throws an Error when the browser cannot. */
async function toPng(text: string, place: HTMLElement): Promise<Blob> {
  const background = getComputedStyle(place).backgroundColor;
  const { svg, width, height } = painted(text, place);
  svg.setAttribute("width", String(width * SCALE));
  svg.setAttribute("height", String(height * SCALE));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * SCALE), Math.ceil(height * SCALE)];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser cannot make a PNG.");
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("This browser cannot make a PNG."))), "image/png"),
  );
}

/** Put a PNG on the clipboard and return what to tell the person. Throws an Error where the browser bars it. */
async function copyPng(png: Promise<Blob>): Promise<string> {
  try {
    // the promise itself: Safari allows the clipboard only in the press of the button
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  } catch {
    throw new Error("This browser does not let pages copy pictures. Save the picture as PNG instead.");
  }
  return "Copied";
}

/** Let the person save a file. */
function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The picture as a file or on the clipboard: made here, so nothing leaves the machine.
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
  const [told, setTold] = useState("");
  const menu = usePopover({ first: "button", onOpen: () => setTold("") });
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
        <Button icon="copy" onClick={run(async (place) => copyPng(toPng(svg, place)))}>
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

// The kinds of the node's drivers that dra_lab has no data file for: corrected here, and kept in a profile file.
const BY_ATTRIBUTE = { value: "", label: "by attribute" };
const KINDS = optionsOf([
  ["gpu", "GPU or other accelerator"],
  ["nic", "NIC"],
  ["cpu", "CPU"],
  ["memory", "memory"],
  ["other", "other"],
]);

export function DriverKinds() {
  const rows = useTrait("kinds") ?? [];
  const menu = usePopover();
  const guesses = rows.filter((row) => row.guessed).length;
  const title = "The kinds of drivers that dra_lab does not know";
  return (
    <>
      <Button icon={guesses ? "warning" : "note"} {...menu.button} hidden={!rows.length} label="Kinds" title={title}>
        <span className="dra-word">Kinds{guesses > 0 && " (guessed)"}</span>
        <Icon name="down" />
      </Button>
      <Popover over={menu} title={title} isBare className="dra-driver-kinds">
        <p className="dra-hint">
          dra_lab does not know these drivers. The kind decides goals and pictures, never which devices match.
        </p>
        {rows.map((row) => (
          <DriverKind key={row.driver} row={row} />
        ))}
      </Popover>
    </>
  );
}

function DriverKind({ row }: { row: DriverKindRow }) {
  const channel = useChannel();
  const text = useRef<HTMLPreElement>(null);
  const [told, setTold] = useState("");
  const file = `${row.driver.replace(/[^A-Za-z0-9._-]+/g, "-")}.yaml`;
  const profile = row.profile ?? "";
  const save = () => {
    saveText(file, profile);
    setTold(`Saved as ${file}`);
  };
  const choose = (kind: string) => {
    setTold("");
    channel.send({ type: "set-kind", driver: row.driver, kind });
  };
  const kinds = KINDS.map((one) =>
    row.guessed && one.value === row.kind ? { ...one, label: `${one.label} (guessed)` } : one,
  );
  return (
    <section className="dra-stack" aria-label={row.driver}>
      <label className="dra-row">
        <b>{row.driver}</b>
        <Select
          data-key={`kind-${row.driver}`}
          value={row.kind}
          options={[...(row.kind ? [] : [BY_ATTRIBUTE]), ...kinds]}
          onChoose={choose}
        />
      </label>
      <p className="dra-hint">To keep the kind, save this profile and give it with --profiles or Lab(drivers=...):</p>
      <pre ref={text} tabIndex={0}>
        {profile}
      </pre>
      <span className="dra-row">
        <CopyButton
          icon="copy"
          data-key={`copy-${row.driver}`}
          text={() => profile}
          select={() => text.current && selectAll(text.current)}
        />
        <Button icon="file" data-key={`save-${row.driver}`} onClick={save}>
          Save {file}
        </Button>
        <span className="dra-hint" role="status">
          {told}
        </span>
      </span>
    </section>
  );
}
