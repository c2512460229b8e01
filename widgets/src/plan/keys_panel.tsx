// The keys that work all over the planner.
const KEYS: readonly (readonly [string, string])[] = [
  ["1 … 5", "choose a mode"],
  ["N", "add a request"],
  ["L", "on a box: start a link; the arrows choose its other end"],
  ["J", "open or close the dock"],
  ["/", "find a node or a device"],
  ["?", "show these keys"],
  ["Enter", "in the answer: apply the first change that would help"],
  ["Ctrl+Z", "undo; with Shift, redo"],
];

export function KeysPanel() {
  return (
    <dl className="dra-keys-list">
      {KEYS.map(([key, words]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{words}</dd>
        </div>
      ))}
    </dl>
  );
}
