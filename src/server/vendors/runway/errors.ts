import { asObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound-types.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { type ErrorClass, toVendorError } from '../error-mapping.ts';
import { asText, ownEntry } from '../untrusted-json.ts';

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
};

export function classifyFailure(code: string): ErrorClass | undefined {
  const parts = code.split('.');
  const beginnings = parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
  return beginnings.map((beginning) => ownEntry(FAILURES, beginning)).find((found) => found !== undefined);
}

/** Errors have a text and no code, so an empty account and a withheld model can be recognized by their text only. */
export function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const message = asText(asObject(response.json)?.error) ?? '';
  const meaning: ErrorClass | undefined = /enough credits/i.test(message)
    ? { reason: 'billing' }
    : /model .*(?:not available|not found)/i.test(message)
      ? { reason: 'model' }
      : /moderation|safety/i.test(message)
        ? { reason: 'policy' }
        : undefined;
  return toVendorError(response, nowMs, { message, meaning });
}
