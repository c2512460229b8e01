// The program of a plan's page (dra_lab/pictures/plan_page.js); it runs when the page is there.
import { focusItem, itemsOf, nextItem } from "./hardware/tree";

/** Make a page that Python wrote (dra_lab/pictures/report.py) answer to pointer and keyboard. */
export function openPage(page: Document): void {
  choosePictures(page);
  lightUp(page);
  walkPictures(page);
  copyManifests(page);
  stepThrough(page);
}

/** Show one picture at a time, the one that is chosen. */
function choosePictures(page: Document): void {
  const choice = page.querySelector<HTMLElement>(".choice");
  const figures = [...page.querySelectorAll<HTMLElement>("figure[data-show]")];
  if (!choice) return;
  const show = (): void => {
    const chosen = choice.querySelector<HTMLInputElement>("input:checked")?.value;
    for (const figure of figures) figure.hidden = figure.dataset.show !== chosen;
  };
  choice.hidden = false;
  choice.addEventListener("change", show);
  show();
}

/** Light up a device, or all of its request, in pictures and tables, and say all about it on the card. */
function lightUp(page: Document): void {
  const card = page.querySelector<HTMLElement>(".card");
  if (card) card.hidden = false;
  const marked = [...nameRows(page), ...page.querySelectorAll<Element>("svg [data-id], #yaml [data-request]")];
  const light = (target: EventTarget | null): void => {
    const element = target instanceof Element ? target.closest("[data-id], [data-request]") : null;
    const [device, request] = [element?.getAttribute("data-id"), element?.getAttribute("data-request")];
    for (const one of marked) {
      const isDevice = Boolean(device) && one.getAttribute("data-id") === device;
      const isRequest = Boolean(request) && one.getAttribute("data-request") === request;
      one.classList.toggle(one instanceof SVGElement ? "dra-hw-lit" : "is-lit", isDevice || isRequest);
    }
    if (card && device) tell(card, device, wordsOf(page, device));
  };
  for (const event of ["pointerover", "focusin"]) page.addEventListener(event, ({ target }) => light(target));
}

function tell(card: HTMLElement, device: string, words: string): void {
  const name = card.ownerDocument.createElement("strong");
  name.textContent = device;
  card.replaceChildren(name, words);
}

/** What a picture that is shown says of a device. */
function wordsOf(page: Document, device: string): string {
  const drawn = [...page.querySelectorAll("figure:not([hidden]) svg [data-id]")];
  return drawn.find((item) => item.getAttribute("data-id") === device)?.getAttribute("aria-label") ?? "";
}

/** Mark the rows of tables that speak of a device or a request, and return them. */
function nameRows(page: Document): readonly Element[] {
  const all = (name: string): Set<string | null> =>
    new Set([...page.querySelectorAll(`svg [${name}]`)].map((item) => item.getAttribute(name)));
  const [devices, requests] = [all("data-id"), all("data-request")];
  return [...page.querySelectorAll<HTMLElement>("tbody tr")].filter((row) => {
    const cells = [...row.querySelectorAll("td")].map((cell) => cell.textContent?.trim() ?? "");
    const device = cells.find((text) => devices.has(text));
    const named = row.querySelector<HTMLElement>("[data-request]")?.dataset.request ?? cells[0]?.split("/")[0] ?? "";
    if (device) row.dataset.id = device;
    if (requests.has(named)) row.dataset.request = named;
    return device !== undefined || requests.has(named);
  });
}

/** Walk through a picture with the arrow keys, Home and End. */
function walkPictures(page: Document): void {
  page.addEventListener("keydown", (event) => {
    const item = event.target instanceof Element ? event.target.closest<SVGElement>('[role="treeitem"]') : null;
    const picture = item?.closest("svg");
    if (!item || !picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = itemsOf(picture);
    const next = nextItem(event.key, items, items.indexOf(item));
    if (!next) return;
    event.preventDefault();
    focusItem(items, next);
  });
}

function copyManifests(page: Document): void {
  const [button, text] = [page.querySelector<HTMLButtonElement>("#copy"), page.querySelector<HTMLElement>("#yaml")];
  if (!button || !text) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      page.getSelection()?.selectAllChildren(text);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}

/** Show the steps of kube-scheduler's search one at a time, with their devices lit in the picture. */
function stepThrough(page: Document): void {
  const steps = [...page.querySelectorAll<HTMLElement>("ol.steps > li")];
  const slider = page.querySelector<HTMLInputElement>("#step");
  if (!slider || !steps.length) return;
  const show = (): void => {
    const at = Number(slider.value) - 1;
    for (const [number, step] of steps.entries()) step.classList.toggle("is-now", number === at);
    const devices = new Set((steps[at]?.dataset.devices ?? "").split(" "));
    for (const item of page.querySelectorAll("svg [data-id]"))
      item.classList.toggle("dra-hw-lit", devices.has(item.getAttribute("data-id") ?? ""));
    slider.setAttribute("aria-valuetext", steps[at]?.textContent ?? "");
    steps[at]?.scrollIntoView?.({ block: "nearest" });
  };
  slider.max = String(steps.length);
  for (const node of page.querySelectorAll<HTMLElement>(".stepper")) node.hidden = false;
  slider.addEventListener("input", show);
}

openPage(document);
