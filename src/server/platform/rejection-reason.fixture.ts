import assert from 'node:assert/strict';
import { JsonRejectedError, type JsonRejectionReason } from './json.ts';

/** Why JSON is rejected; undefined where it is accepted. */
export function catchJsonRejectionReason(act: () => unknown): JsonRejectionReason | undefined {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof JsonRejectedError);
    return error.reason;
  }
  return undefined;
}
