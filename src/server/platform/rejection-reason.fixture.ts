import assert from 'node:assert/strict';
import { JsonRejectedError, type JsonRejectionReason } from './json.ts';

/** The reason for which JSON is rejected; undefined when it is accepted. */
export function catchJsonRejectionReason(act: () => unknown): JsonRejectionReason | undefined {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof JsonRejectedError);
    return error.reason;
  }
  return undefined;
}
