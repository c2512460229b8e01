// The comparison for elsewhere: copied as Markdown or CSV, or saved as a CSV file.

import { useState } from "react";
import { Button } from "../components/button";
import { Told } from "../components/inputs";
import { copyText } from "../view/copy";
import { saveText } from "../view/save_text";

export function TableTools({ markdown, csv }: { markdown: string; csv: string }) {
  const [told, setTold] = useState("");
  const copy = async (text: string) => setTold(await copyText(text, () => undefined));
  return (
    <>
      <Told>{told}</Told>
      <Button onClick={() => void copy(markdown)}>Copy as Markdown</Button>
      <Button onClick={() => void copy(csv)}>Copy as CSV</Button>
      <Button onClick={() => saveText("comparison.csv", csv)}>Download CSV</Button>
    </>
  );
}
