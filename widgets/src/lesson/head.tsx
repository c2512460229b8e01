// The head of a lesson: its place in the course, its title, and what was reached.
import { Button } from "../components/button";
import { Figure } from "../view/figure";
import { FullScreen } from "../view/full_screen";
import { OpenInTab } from "../view/open_in_tab";
import { useChannel, useTrait } from "./model";

export function Head() {
  const channel = useChannel();
  const { number, title, minutes = 0, progress, tiles = [] } = useTrait("head");
  const canLeave = useTrait("can_leave");
  return (
    <header className="dra-lesson-head">
      <div className="dra-lesson-titles">
        <p className="dra-lesson-place">
          {number}
          {minutes > 0 && ` · about ${minutes} minutes`}
        </p>
        <h2>{title}</h2>
        <p className="dra-lesson-progress">{progress}</p>
      </div>
      {tiles.map((row) => (
        <Figure key={row.caption} row={row} />
      ))}
      <div className="dra-row">
        <FullScreen of=".dra-lesson-grid" />
        {canLeave ? (
          <Button icon="back" onClick={() => channel.send({ type: "show-lessons" })}>
            All lessons
          </Button>
        ) : (
          <OpenInTab />
        )}
      </div>
    </header>
  );
}
