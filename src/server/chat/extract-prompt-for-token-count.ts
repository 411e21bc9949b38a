import type { UntrustedObject } from '../../contract/is-object.ts';
import { isMedia, walkStrings } from './walk-body-strings.ts';

/** Members of a body that are not part of what a model reads. */
const NON_PROMPT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'role',
  'type',
  'detail',
  'format',
  'id',
  'tool_call_id',
  'call_id',
  'tool_use_id',
  'media_type',
  'signature',
]);

/** What a model reads of a body. */
export interface PromptContent {
  /** Without its pictures. */
  readonly text: string;
  readonly imageCount: number;
  /** Texts that come as tokens already, as embeddings take them. */
  readonly tokenIdCount: number;
}

export function extractPrompt(body: UntrustedObject): PromptContent {
  const texts: string[] = [];
  let imageCount = 0;
  walkStrings(
    body,
    (key, text) => {
      if (isMedia(key, text)) imageCount++;
      else texts.push(text);
    },
    () => {},
    NON_PROMPT_KEYS,
  );
  const input = Array.isArray(body.input) ? body.input.flat() : [];
  return { text: texts.join('\n'), imageCount, tokenIdCount: input.filter((each) => typeof each === 'number').length };
}
