// The head of a lesson: its place in the course, its title, and what was reached.
import { Figure } from "../view/figure";
import { Icon } from "../view/icon";
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
      <div className="dra-lesson-ways">
        {canLeave ? (
          <button type="button" className="dra-button" onClick={() => channel.send({ type: "show-lessons" })}>
            <Icon name="back" />
            All lessons
          </button>
        ) : (
          <OpenInTab />
        )}
      </div>
    </header>
  );
}
