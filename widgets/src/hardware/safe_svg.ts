// A picture that came as text: read as XML, and without anything that could act.

// Every widget of a page has a copy of this module, so a counter alone would begin again in each.
const COPY = Math.random().toString(36).slice(2, 8);
let copies = 0;

const BARRED = new Set([
  "script",
  "foreignobject",
  "iframe",
  "object",
  "embed",
  "image",
  "use",
  "a",
  "animate",
  "set",
  "animatetransform",
  "animatemotion",
  "handler",
  "listener",
]);
const LINKS = new Set(["href", "xlink:href", "src"]);

/**
 * Return the picture as an element of this page, with ids of its own. Throws when the text is no SVG.
 *
 * The same picture may be on the page twice (a notebook and a tab): a pattern that is named in the one which is hidden
 * would not be painted in the other.
 */
export function safeSvg(text: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (parsed.querySelector("parsererror") || root.localName !== "svg") throw new Error("The picture is not valid SVG.");
  clean(root);
  copies += 1;
  rename(root, `dra-svg-${COPY}-${copies}`);
  return document.importNode(root, true) as unknown as SVGSVGElement;
}

function rename(root: Element, prefix: string): void {
  for (const node of root.querySelectorAll("*")) {
    if (node.id) node.id = `${prefix}-${node.id}`;
    for (const { name, value } of [...node.attributes]) {
      if (value.includes("url(#")) node.setAttribute(name, value.replaceAll("url(#", `url(#${prefix}-`));
    }
  }
}

function clean(node: Element): void {
  for (const child of [...node.children]) {
    if (BARRED.has(child.localName.toLowerCase())) child.remove();
    else clean(child);
  }
  for (const { name, value } of [...node.attributes]) {
    const lower = name.toLowerCase();
    // Patterns are named inside the picture; everything else that a url() or a link could fetch is outside.
    const fetches = /[(@]/.test(value) && (/url\(\s*['"]?(?!#)/i.test(value) || /@import|expression\(/i.test(value));
    if (lower.startsWith("on") || LINKS.has(lower) || fetches) node.removeAttribute(name);
  }
  if (node.localName === "style" && /@import|url\(\s*['"]?(?!#)/i.test(node.textContent ?? "")) node.remove();
}
