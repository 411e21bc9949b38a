import { setImmediate as nextTurn } from 'node:timers/promises';

/** Every message of a conversation has a frame of a few tokens. */
export const TOKENS_PER_MESSAGE = 8;

/** Longer texts are counted by a sample. */
const MAX_COUNTED_LENGTH = 64_000;
/** Counted in one go, some milliseconds at most; others have their turn in between. */
const SLICE_LENGTH = 4_000;

type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

let loading: Promise<Count> | undefined;

/** Names of control tokens inside a user's text are plain text. */
const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() };

/**
 * Counts tokens as OpenAI's models since GPT-4o do (o200k_base), for upstreams that do not report usage. Other makers' tokenizers
 * differ by some per cent. The table is loaded at the first call: most processes never need its memory.
 */
export async function countTokens(text: string): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then((module) => module.countTokens as Count);
  const count = await loading;
  const counted = Math.min(text.length, MAX_COUNTED_LENGTH);
  let tokens = 0;
  for (let at = 0; at < counted; ) {
    const end = endOfSlice(text, at, counted);
    tokens += countSlice(count, text.slice(at, end));
    at = end;
    if (at < counted) await nextTurn();
  }
  return Math.ceil((tokens * text.length) / counted);
}

/** Before a blank where there is one: tokens begin there. */
function endOfSlice(text: string, from: number, limit: number): number {
  const end = from + SLICE_LENGTH;
  if (end >= limit) return limit;
  const blank = text.lastIndexOf(' ', end);
  return blank > from ? blank : end;
}

/** A run without a border is one piece to the tokenizer, which takes time by the square of its length. */
const LONG_RUN = /\S{64}(?=\S)|\s{64}(?=\s)/g;

function countSlice(count: Count, slice: string): number {
  let insertedBreaks = 0;
  const withBreaks = slice.replace(LONG_RUN, (run) => {
    insertedBreaks++;
    return run + (run.trim() === '' ? 'x' : '\n');
  });
  return Math.max(1, count(withBreaks, NO_SPECIAL_TOKENS) - insertedBreaks);
}
