/** `1 finding`, `2 findings`. */
export const counted = (number: number, word: string): string =>
  `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
