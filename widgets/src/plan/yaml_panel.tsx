// The manifests, their letters in the margin, and the lines of the highlighted request lit up.

import { memo, type RefObject, useMemo } from "react";
import type { BadgeRow } from "../generated/models";
import { type Point, requestOf } from "../view/model";
import { keyed } from "../view/text";
import { badgeStyle } from "./devices";
import { useTrait } from "./model";

// YAML cut into what is coloured differently, line by line.
type Kind = "key" | "string" | "number" | "word" | "comment" | "sign" | "text";
interface Token {
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

interface Props {
  point: Point;
  code: RefObject<HTMLDivElement | null>;
  hidden: boolean;
}

export function YamlPanel({ point, code, hidden }: Props) {
  const [yaml, marks, badges, chosen] = [
    useTrait("yaml"),
    useTrait("yaml_marks"),
    useTrait("badges"),
    useTrait("chosen"),
  ];
  const lit = badges[requestOf({ badges, chosen }, useTrait("highlight"))]?.letter;
  const lines = useMemo(() => keyed(yaml.replace(/\n$/, "").split("\n")), [yaml]);
  const requests = useMemo(
    () => new Map(Object.entries(badges).map(([request, badge]) => [badge.letter, { request, badge }])),
    [badges],
  );
  return (
    <div
      ref={code}
      className="dra-yaml dra-pane"
      role="region"
      aria-label="Manifests as YAML"
      tabIndex={0}
      hidden={hidden}
      onPointerOver={(event) =>
        point((event.target as Element).closest("[data-request]")?.getAttribute("data-request") ?? "")
      }
      onPointerLeave={() => point("")}
    >
      {lines.map(([key, text], i) => {
        const letter = marks[String(i + 1)];
        const found = letter === undefined ? undefined : requests.get(letter);
        return (
          <Line
            key={key}
            text={text}
            letter={letter}
            // The letter is shown once, at the first line of what was written for a request.
            isFirst={letter !== marks[String(i)]}
            request={found?.request}
            badge={found?.badge}
            isLit={lit !== undefined && letter === lit}
          />
        );
      })}
    </div>
  );
}

interface LineProps {
  text: string;
  letter: string | undefined;
  isFirst: boolean;
  request: string | undefined;
  badge: BadgeRow | undefined;
  isLit: boolean;
}

const Line = memo(function Line({ text, letter, isFirst, request, badge, isLit }: LineProps) {
  return (
    <div
      className={isLit ? "dra-code-line is-lit" : "dra-code-line"}
      data-letter={letter}
      data-request={request}
      style={badgeStyle(badge)}
    >
      <span className="dra-mark" aria-hidden="true">
        {isFirst ? letter : ""}
      </span>
      <span className="dra-code">
        {keyed(tokens(text), (token) => `${token.kind} ${token.text}`).map(([key, token]) =>
          token.kind === "text" ? (
            token.text
          ) : (
            <span key={key} className={`dra-y-${token.kind}`}>
              {token.text}
            </span>
          ),
        )}
      </span>
    </div>
  );
});
