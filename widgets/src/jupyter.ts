// What a widget has to know about the notebook around it.

const ATTRIBUTE = "data-lm-suppress-shortcuts";

/** Keys that a person means for the notebook wherever the focus is: save, and the command palette. */
function isForTheNotebook(event: KeyboardEvent): boolean {
  if (!event.ctrlKey && !event.metaKey) return false;
  const key = event.key.toLowerCase();
  return key === "s" || (event.shiftKey && key === "c");
}

/**
 * Keep JupyterLab's notebook shortcuts (a, b, x, d d, z ...) away from a widget; returns the function that ends it.
 *
 * JupyterLab listens on the document in the capture phase, so stopping an event comes too late, and its command-mode
 * selectors end in `:focus`, so the mark has to stand on the focused element itself: it is set when the focus arrives.
 * A
 * listener on the window runs before the document's and lifts the mark for the keys that belong to the notebook.
 */
export function suppressShortcuts(root: HTMLElement): () => void {
  const mark = (event: Event) => (event.target as Element).setAttribute?.(ATTRIBUTE, "true");
  const lift = (event: KeyboardEvent) => {
    const target = event.target as Element | null;
    if (!target || !root.contains(target) || !isForTheNotebook(event)) return;
    target.removeAttribute(ATTRIBUTE);
    setTimeout(() => target.setAttribute(ATTRIBUTE, "true"));
  };
  root.addEventListener("focusin", mark, true);
  window.addEventListener("keydown", lift, true);
  return () => {
    root.removeEventListener("focusin", mark, true);
    window.removeEventListener("keydown", lift, true);
  };
}
