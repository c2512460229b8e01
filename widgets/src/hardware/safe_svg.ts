// A picture that came as text: read as XML, and without anything that could act.

const BARRED = new Set(["script", "foreignobject", "iframe", "object", "embed", "image", "use", "a", "animate", "set", "animatetransform", "animatemotion", "handler", "listener"]);
const LINKS = new Set(["href", "xlink:href", "src"]);

/** Return the picture as an element of this page. Throws when the text is no SVG. */
export function safeSvg(text: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (parsed.querySelector("parsererror") || root.localName !== "svg") throw new Error("The picture is no valid SVG.");
  clean(root);
  return document.importNode(root, true) as unknown as SVGSVGElement;
}

function clean(node: Element): void {
  for (const child of [...node.children]) {
    if (BARRED.has(child.localName.toLowerCase())) child.remove();
    else clean(child);
  }
  for (const { name, value } of [...node.attributes]) {
    const lower = name.toLowerCase();
    // Patterns are named inside the picture; everything else that a url() or a link could fetch is outside.
    const fetches = /url\(\s*['"]?(?!#)/i.test(value) || /@import|expression\(/i.test(value);
    if (lower.startsWith("on") || LINKS.has(lower) || fetches) node.removeAttribute(name);
  }
  if (node.localName === "style" && /@import|url\(\s*['"]?(?!#)/i.test(node.textContent ?? "")) node.remove();
}
