// The comparison for elsewhere: copied as Markdown or CSV, or saved as a CSV file.
import { useState } from "react";
import { copyText } from "../view/copy";
import { saveText } from "../view/save_text";

export function TableTools({ markdown, csv }: { markdown: string; csv: string }) {
  const [told, setTold] = useState("");
  const copy = async (text: string) => setTold(await copyText(text, () => undefined));
  return (
    <>
      <span className="dra-told" role="status">
        {told}
      </span>
      <button type="button" className="dra-button" onClick={() => void copy(markdown)}>
        Copy as Markdown
      </button>
      <button type="button" className="dra-button" onClick={() => void copy(csv)}>
        Copy as CSV
      </button>
      <button type="button" className="dra-button" onClick={() => saveText("comparison.csv", csv)}>
        Download CSV
      </button>
    </>
  );
}
