// The picture as a PNG file, made here: nothing leaves the machine.
import { safeSvg } from "./safe_svg";

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
export function standalone(svg: SVGSVGElement): SVGSVGElement {
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
export function toSvg(text: string, place: HTMLElement): string {
  return new XMLSerializer().serializeToString(painted(text, place).svg);
}

/** Make the PNG of a picture as it looks inside `place`, on its background. Throws an Error when the browser cannot. */
export async function toPng(text: string, place: HTMLElement): Promise<Blob> {
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
export async function copyPng(png: Promise<Blob>): Promise<string> {
  try {
    // the promise itself: Safari allows the clipboard only in the press of the button
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  } catch {
    throw new Error("This browser does not let pages copy pictures. Save the picture as PNG instead.");
  }
  return "Copied";
}

/** Let the person save a file. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
