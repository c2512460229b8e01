// Texts and values: counts in words, keys for React, the clipboard, files to save, equality.

/** `1 finding`, `2 findings`. */
export const counted = (number: number, word: string): string =>
  `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

/** Pair each item with a key for React: what `name` gives, and a number where two items have the same name. */
export function keyed<T>(items: readonly T[], name: (item: T) => string = String): readonly (readonly [string, T])[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const text = name(item);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    return [count === 1 ? text : `${text} #${count}`, item] as const;
  });
}

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

/** Let the browser save a text as a file. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Whether two values of JSON say the same; a property that is undefined counts as missing. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, i) => isEqual(value, b[i]));
  }
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((key) => isEqual(one[key], other[key]));
}
