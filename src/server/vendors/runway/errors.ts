import { defined } from '../../../contract/omit-undefined.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { type ErrorClass, readReason, toVendorError } from '../error-mapping.ts';
import { classifyByWords, unwrapTask } from '../relay-answer.ts';
import { ownEntry } from '../untrusted-json.ts';

/** Failures of tasks, by the longest beginning of their code (docs.dev.runwayml.com/errors/task-failures). */
export const FAILURES: Readonly<Record<string, ErrorClass>> = {
  SAFETY: { reason: 'policy' },
  'INPUT_PREPROCESSING.SAFETY': { reason: 'policy' },
  INPUT_PREPROCESSING: { reason: 'capacity' },
  ASSET: { reason: 'user', cause: 'picture_unsuitable' },
  'SAFETY.INPUT.TEXT': { reason: 'policy', cause: 'prompt_refused' },
  'SAFETY.INPUT.IMAGE': { reason: 'policy', cause: 'picture_refused' },
  'SAFETY.OUTPUT': { reason: 'policy', cause: 'result_refused' },
  INTERNAL: { reason: 'capacity' },
  THIRD_PARTY: { reason: 'capacity' },
  'THIRD_PARTY.INPUT_VALIDATION': { reason: 'user' },
};

export function classifyFailure(code: string): ErrorClass | undefined {
  const parts = code.split('.');
  const beginnings = parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
  return beginnings.map((beginning) => ownEntry(FAILURES, beginning)).find((found) => found !== undefined);
}

/** Errors have a text and no code, so that only their text tells an empty account from a withheld model (docs.dev.runwayml.com/errors). */
const REFUSALS: readonly (readonly [pattern: RegExp, meaning: ErrorClass])[] = [
  [/enough credits/i, { reason: 'billing' }],
  [/model .*(?:not available|not found)/i, { reason: 'model' }],
  [/moderation|safety/i, { reason: 'policy' }],
];

export function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const { code, message } = readReason(response.json, unwrapTask(response.json));
  const meaning = REFUSALS.find(([pattern]) => pattern.test(message ?? ''))?.[1] ?? classifyByWords({ code, message });
  return toVendorError(response, nowMs, defined({ code, message, meaning }));
}
