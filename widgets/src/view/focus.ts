// The focus stays inside a widget when what had it is drawn again, hidden or taken away.

const TABBABLE = 'button:not([tabindex="-1"]):not(:disabled), [tabindex="0"], input, select, textarea';
/** Give the focus to the planner's modes: nothing is left of a view, such as after another mode was chosen. */
export function focusMode(root: HTMLElement): void {
  root.closest(".dra-lab")?.querySelector<HTMLElement>(".dra-modes input:checked")?.focus();
}

type Focusable = HTMLElement | SVGElement;
const isShown = (node: Element): boolean => node.isConnected && !node.closest("[hidden]");

/**
 * Follow the focus inside `root`; returns what ends that. `onFocus` gets the element, and null after the focus went
 * elsewhere on purpose. It is not called if a browser takes the focus from an element that is not shown any more.
 */
export function followFocus(root: Element, onFocus: (node: Focusable | null) => void): () => void {
  let last: Focusable | null = null;
  const remember = (node: EventTarget | null) => {
    const isOurs = (node instanceof HTMLElement || node instanceof SVGElement) && node !== root && root.contains(node);
    last = isOurs ? node : null;
    onFocus(last);
  };
  const onFocusIn = (event: Event) => remember(event.target);
  // Whoever presses elsewhere on the page takes the focus away on purpose.
  const onPress = (event: Event) => {
    if (last && !last.contains(event.target as Node)) remember(null);
  };
  document.addEventListener("focusin", onFocusIn, true);
  document.addEventListener("pointerdown", onPress, true);
  return () => {
    document.removeEventListener("focusin", onFocusIn, true);
    document.removeEventListener("pointerdown", onPress, true);
  };
}

/**
 * Give the focus to what takes the place of an element that lost it; returns what ends that.
 *
 * That is the element with the same `data-key`, else the first one nearby that Tab would reach. An element whose
 * `data-home` is a selector chooses for all inside it. A view of which nothing is left gives it to the planner's modes.
 */
export function keepFocus(root: HTMLElement): () => void {
  let last: Focusable | null = null;
  let around: HTMLElement[] = [];
  const end = followFocus(root, (node) => {
    last = node && isAble(node) ? node : null;
    around = [];
    for (let up = last?.parentElement; up && root.contains(up); up = up.parentElement) around.push(up);
  });
  const restore = () => {
    // A browser takes the focus from what is hidden or disabled a moment later.
    const isElsewhere = ![null, document.body, last].includes(document.activeElement as Focusable | null);
    if (!last || isElsewhere || isAble(last)) return;
    const key = last.getAttribute("data-key");
    const same = key === null ? undefined : all(root, "[data-key]").find((one) => one.dataset.key === key);
    const home = around.find((node) => node.dataset.home)?.dataset.home;
    const near = around.filter(isShown).flatMap((node) => all(node, TABBABLE))[0];
    const next = same ?? (home ? root.querySelector<HTMLElement>(home) : near);
    if (next) next.focus();
    else focusMode(root);
  };
  const watch = new MutationObserver(restore);
  watch.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "disabled"] });
  return () => {
    watch.disconnect();
    end();
  };
}

const isAble = (node: Focusable): boolean => isShown(node) && !node.matches(":disabled");
const all = (node: Element, selector: string): HTMLElement[] =>
  [...node.querySelectorAll<HTMLElement>(selector)].filter(isAble);
