// The manifests, their letters in the margin, and the lines of the highlighted request lit up.
import { memo, type RefObject, useMemo } from "react";
import type { BadgeRow } from "../generated/models";
import { keyed } from "../view/keyed";
import { type Light, requestOf, useLit } from "../view/light";
import { badgeStyle } from "./badge_style";
import { useTrait } from "./model";
import { tokens } from "./yaml_text";

interface Props {
  light: Light;
  code: RefObject<HTMLDivElement | null>;
  hidden: boolean;
}

export function YamlPanel({ light, code, hidden }: Props) {
  const [yaml, marks, badges, chosen] = [
    useTrait("yaml"),
    useTrait("yaml_marks"),
    useTrait("badges"),
    useTrait("chosen"),
  ];
  const lit = badges[requestOf({ badges, chosen }, useLit(light))]?.letter;
  const lines = useMemo(() => keyed(yaml.replace(/\n$/, "").split("\n")), [yaml]);
  const requests = useMemo(
    () => new Map(Object.entries(badges).map(([request, badge]) => [badge.letter, { request, badge }])),
    [badges],
  );
  return (
    <div
      ref={code}
      className="dra-yaml"
      role="region"
      aria-label="Manifests as YAML"
      tabIndex={0}
      hidden={hidden}
      onPointerOver={(event) =>
        light.point((event.target as Element).closest("[data-request]")?.getAttribute("data-request") ?? "")
      }
      onPointerLeave={() => light.point("")}
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
