/** Longer texts are counted by a sample: the tokenizer takes about a second for a megabyte, and would hold everybody up. */
const COUNTED_LENGTH = 100_000;

type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

let loading: Promise<Count> | undefined;

/** Names of control tokens inside somebody's text are plain text. */
const PLAIN = { disallowedSpecial: new Set<string>() };

/**
 * Counts tokens as OpenAI's models since GPT-4o do (o200k_base), for upstreams that do not tell. Other makers' tokenizers
 * differ by some per cent. The table is loaded at the first call: most processes never need its memory.
 */
export async function countTokens(text: string): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then((module) => module.countTokens as Count);
  const count = await loading;
  if (text.length <= COUNTED_LENGTH) return count(text, PLAIN);
  return Math.ceil((count(text.slice(0, COUNTED_LENGTH), PLAIN) * text.length) / COUNTED_LENGTH);
}
