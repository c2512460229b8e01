// The word above a column of numbers; a click explains it.
import { useTrait } from "../plan/model";
import { Term } from "../view/figure";

/** A word of the table; "more fit" and "stranded GPUs" mean what their first word means. */
export function Head({ word }: { word: string }) {
  const terms = useTrait("fleet_terms");
  const text = terms[word.split(" ")[0] ?? ""];
  return text === undefined ? word : <Term title={word} text={text} />;
}
