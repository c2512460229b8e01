/** Pair each item with a key for React: what `name` gives, and a number where two items have the same name. */
export function keyed<T>(items: readonly T[], name: (item: T) => string = String): readonly (readonly [string, T])[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const text = name(item);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    return [count === 1 ? text : `${text} #${count}`, item] as const;
  });
}
