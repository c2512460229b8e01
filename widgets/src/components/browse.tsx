// A button that lists the folders of the notebook, in place of typing a path.

import type { ListingRow } from "../generated/models";
import { onArrows } from "../view/keys";
import { useAnyChannel, useAnyTrait } from "../view/model";
import { Button } from "./button";
import { Popover, usePopover } from "./popover";

interface Props {
  /** What can be chosen. */
  what: "file" | "folder" | "any";
  /** Where to begin. */
  path: string;
  /** Gets a path, relative to the notebook. */
  onChoose(path: string): void;
}

const onEntryArrows = onArrows("button");

export function Browse({ what, path, onChoose }: Props) {
  const channel = useAnyChannel();
  const row = useAnyTrait("listing") as ListingRow;
  const { path: here = "", above, folders = [], files = [], more = 0, problem } = row;
  const list = (to: string) => channel.send({ type: "list-folder", path: to });
  const over = usePopover({ first: ".dra-option", onOpen: () => list(path) });
  const within = (name: string) => (here ? `${here}/${name}` : name);
  const choose = (to: string) => {
    over.close();
    onChoose(to);
  };
  const shown = what === "folder" ? [] : files;
  return (
    <>
      <Button {...over.button} icon="folder" label="Browse" title="Browse the folders of this notebook" />
      <Popover over={over} title="Browse" className="dra-browse">
        <p className="dra-hint" role="status">
          {here || "The folder of this notebook"}
        </p>
        <div className="dra-options" role="group" aria-label="Entries" onKeyDown={onEntryArrows}>
          {above != null && (
            <Button kind="bare" className="dra-option" icon="back" onClick={() => list(above)}>
              Up
            </Button>
          )}
          {folders.map((name) => (
            <Button kind="bare" className="dra-option" icon="folder" key={name} onClick={() => list(within(name))}>
              {name}
            </Button>
          ))}
          {shown.map((name) => (
            <Button kind="bare" className="dra-option" icon="file" key={name} onClick={() => choose(within(name))}>
              {name}
            </Button>
          ))}
        </div>
        {problem && <p className="dra-wrong">{problem}</p>}
        {!problem && !folders.length && !shown.length && (
          <p className="dra-hint">
            {what === "folder" ? "No folder is in here." : "Nothing that can be read is here."}
          </p>
        )}
        {more > 0 && <p className="dra-hint">{more} more entries are not listed. Type the path.</p>}
        {what !== "file" && (
          <Button kind="primary" onClick={() => choose(here || ".")}>
            Choose this folder
          </Button>
        )}
      </Popover>
    </>
  );
}
