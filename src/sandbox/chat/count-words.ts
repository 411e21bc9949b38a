/** Roughly one token a word: what the simulated models report as the tokens of a value. */
export const countWords = (value: unknown): number => JSON.stringify(value ?? '').split(/\W+/).length;
