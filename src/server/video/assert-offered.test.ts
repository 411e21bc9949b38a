import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelCapability, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import { assertOffered } from './generation-request.ts';

const adapter = {
  billingFactors: ({ seconds = 5 }: VideoRequest) => ({ seconds, factors: {} }),
  formFields: {},
} as unknown as VendorAdapter;

const request = (part: Partial<VideoRequest>): VideoRequest => ({
  taskId: 'task_1',
  model: 'film-1',
  prompt: 'a boat',
  images: [],
  metadata: {},
  extraFields: [],
  ...part,
});

const capability = (seconds: ModelCapability['seconds']): ModelCapability =>
  ({ ways: [{ operation: 'generate', inputs: [] }], seconds, resolutions: [] }) as unknown as ModelCapability;

test('a length the model does not offer is refused by the field that named it, with the lengths it offers', () => {
  const range = capability({ min: 3, max: 15, default: 5 } as ModelCapability['seconds']);
  const refused = (part: Partial<VideoRequest>, offered: ModelCapability, message: string, param: string): void =>
    assert.throws(() => assertOffered(request(part), adapter, offered), {
      options: { params: { detail: message }, param },
    });
  refused({ seconds: 99, lengthField: 'seconds' }, range, 'seconds must be 3 to 15 seconds for film-1.', 'seconds');
  refused({ seconds: 2 }, range, 'duration must be 3 to 15 seconds for film-1.', 'duration');
  const listed = capability({ values: [5, 10], default: 5 } as ModelCapability['seconds']);
  refused({ seconds: 7 }, listed, 'duration must be 5, 10 seconds for film-1.', 'duration');
  assertOffered(request({ seconds: 10 }), adapter, listed);
  assertOffered(request({ seconds: 3 }), adapter, range);
});
