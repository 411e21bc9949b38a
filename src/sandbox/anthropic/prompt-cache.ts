import { createHash } from 'node:crypto';
import type { Fields } from '../chat/untrusted-fields.ts';

/** Prefixes that were written to the simulated cache. Bounded, since benchmarks run for long. */
const written = new Set<string>();
const MAX_PREFIXES = 10_000;

const MARKER = '"cache_control":{';

/** The input of a request in Anthropic's figures: a prefix up to the last marker is written once, and read from then on. */
export function readCacheUsage({ system, messages, tools }: Fields, input: number): Fields {
  const prompt = JSON.stringify([tools, system, messages]);
  const at = prompt.lastIndexOf(MARKER);
  const none = {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  };
  if (at === -1) return none;
  const prefix = prompt.slice(0, at);
  const share = Math.min(input - 1, Math.floor((input * prefix.length) / prompt.length));
  const key = createHash('sha256').update(prefix).digest('base64');
  const rest = { ...none, input_tokens: input - share };
  if (written.has(key)) return { ...rest, cache_read_input_tokens: share };
  if (written.size >= MAX_PREFIXES) written.clear();
  written.add(key);
  const isLong = prompt.slice(at, at + MARKER.length + 60).includes('"ttl":"1h"');
  return {
    ...rest,
    cache_creation_input_tokens: share,
    cache_creation: { ephemeral_5m_input_tokens: isLong ? 0 : share, ephemeral_1h_input_tokens: isLong ? share : 0 },
  };
}
