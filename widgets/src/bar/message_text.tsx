/** Text as it is; a table of several lines keeps its columns, and only a command that is wider is wrapped. */
export function MessageText({ text }: { text: string }) {
  return text.includes("\n") ? <pre className="dra-told">{text}</pre> : <span>{text}</span>;
}
