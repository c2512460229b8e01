// YAML cut into what is coloured differently, line by line.

export type Kind = "key" | "string" | "number" | "word" | "comment" | "sign" | "text";
export interface Token {
  readonly kind: Kind;
  readonly text: string;
}

const WORDS = /^(?:true|false|null|~)$/i;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
const KEY =
  /^(\s*(?:- +)*)((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"[\]{},&*!|>%@`-][^:#]*?|-[^\s:#][^:#]*?))(:)(?=\s|$)/;

/** Split one line into what is coloured differently; the pieces joined are the line. */
export function tokens(line: string): readonly Token[] {
  const found: Token[] = [];
  const push = (kind: Kind, text: string | undefined) => {
    if (text) found.push({ kind, text });
  };
  const [code, comment] = cutComment(line);
  const key = KEY.exec(code);
  let rest = code;
  if (key) {
    push("sign", key[1]);
    push("key", key[2]);
    push("sign", key[3]);
    rest = code.slice(key[0].length);
  } else {
    const dash = /^\s*(?:- +)+|^\s*-$|^(?:---|\.\.\.)$/.exec(code)?.[0] ?? "";
    push("sign", dash);
    rest = code.slice(dash.length);
  }
  const space = /^\s*/.exec(rest)?.[0] ?? "";
  const tail = /\s*$/.exec(rest.slice(space.length))?.[0] ?? "";
  const value = rest.slice(space.length, rest.length - tail.length);
  push("text", space);
  push(
    NUMBER.test(value)
      ? "number"
      : WORDS.test(value)
        ? "word"
        : /^(?:[|>][-+]?|[[\]{}]+)$/.test(value)
          ? "sign"
          : "string",
    value,
  );
  push("text", tail);
  push("comment", comment);
  return found;
}

/** A comment begins with # at the start or after a space, and not inside quotes. */
function cutComment(line: string): readonly [string, string] {
  let quote = "";
  for (let i = 0; i < line.length; i += 1) {
    const sign = line[i] ?? "";
    if (quote) {
      if (sign === "\\" && quote === '"') i += 1;
      else if (sign === quote) quote = "";
    } else if ((sign === '"' || sign === "'") && /(^|[\s:[{,-])$/.test(line.slice(0, i))) quote = sign;
    else if (sign === "#" && (i === 0 || /\s/.test(line[i - 1] ?? ""))) return [line.slice(0, i), line.slice(i)];
  }
  return [line, ""];
}
