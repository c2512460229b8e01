// The keys that work somewhere, as the table of keys lists them.
interface Props {
  rows: readonly (readonly [shown: string, words: string, ...unknown[]])[];
}

export function KeysList({ rows }: Props) {
  return (
    <dl className="dra-keys-list">
      {rows.map(
        ([shown, words]) =>
          shown && (
            <div key={shown}>
              <dt>
                <kbd>{shown}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
