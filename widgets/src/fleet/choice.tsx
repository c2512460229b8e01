// One of a few values, as radio buttons beside each other.

export function Choice({
  name,
  values,
  now,
  onChoose,
}: {
  name: string;
  values: readonly (readonly [string, string])[];
  now: string;
  onChoose(value: string): void;
}) {
  return (
    <fieldset className="dra-toggle">
      <legend className="dra-sr">{name}</legend>
      {values.map(([value, text]) => (
        <label key={value}>
          <input type="radio" checked={value === now} onChange={() => onChoose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
