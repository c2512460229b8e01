// Text for the clipboard, also where the browser bars it.

/** Copy a text, else let `select` mark it on the screen; returns what to tell the person. */
export async function copyText(text: string, select: () => void): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    select();
    return "Selected: press Ctrl+C";
  }
}

/** Select all that an element holds, and give it the focus. */
export function selectAll(node: HTMLElement): void {
  window.getSelection()?.selectAllChildren(node);
  node.focus();
}
