// The text of an editor, changed by us while a person looks at it.

/** Write another text as if a person had typed it: Ctrl+Z brings the old one back. */
export function typeOver(area: HTMLTextAreaElement, text: string): void {
  const [top, left] = [area.scrollTop, area.scrollLeft];
  area.focus();
  area.select();
  // The one way to change a text and keep the browser's own undo history; where it is missing the text is set.
  if (!document.execCommand?.("insertText", false, text)) area.value = text;
  area.setSelectionRange(0, 0);
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/**
 * Put another text in the place of one that is being looked at: the caret stays where it is read, and nothing scrolls.
 */
export function replaceText(area: HTMLTextAreaElement, text: string): void {
  const old = area.value;
  if (text === old) return;
  const [from, to] = [moved(area.selectionStart, old, text), moved(area.selectionEnd, old, text)];
  const [top, left] = [area.scrollTop, area.scrollLeft];
  area.value = text;
  area.setSelectionRange(from, to);
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/**
 * Where a place of one text is in another: at its line where no line came or went, else behind or before what is equal.
 */
function moved(at: number, old: string, text: string): number {
  const [before, after] = [old.split("\n"), text.split("\n")];
  if (before.length === after.length) {
    const line = old.slice(0, at).split("\n").length - 1;
    const start = after.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    const column = at - before.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    return start + Math.min(column, after[line]?.length ?? 0);
  }
  const most = Math.min(old.length, text.length);
  let head = 0;
  while (head < most && old[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  return at <= head ? at : at >= old.length - tail ? at + text.length - old.length : head;
}
