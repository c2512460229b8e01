// How much of a total: a filled part of a track. Words beside it say the numbers.

/** `width` is the share of its place that the whole track takes, in percent. */
export function Meter({ value, of, width = 100 }: { value: number; of: number; width?: number }) {
  return (
    <span className="dra-meter" style={{ width: `${width}%` }}>
      <span style={{ width: `${(100 * value) / Math.max(1, of)}%` }} />
    </span>
  );
}
