// The verdict in a sentence, with its sign; those who do not see the sign hear its word.
import type { Tone } from "../components/callout";
import { Icon, type IconName } from "../view/icon";

export type Sign = readonly [icon: IconName, word: string, tone?: Tone];

export function Headline({ sign: [icon, word, tone], words }: { sign: Sign; words: string }) {
  return (
    <div className="dra-headline">
      <span className="dra-sign dra-toned" data-tone={tone} role="img" aria-label={word}>
        <Icon name={icon} />
      </span>
      <h2 className="dra-sentence" role="status">
        {words}
      </h2>
    </div>
  );
}
