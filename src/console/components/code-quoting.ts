/** A text as one word of a POSIX shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** JSON as a Python literal: the same but for its three words. */
export const toPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(/("(?:[^"\\]|\\.)*")|\b(?:true|false|null)\b/g, (word, text?: string) =>
    text !== undefined ? word : ({ true: 'True', false: 'False', null: 'None' }[word] ?? word),
  );
