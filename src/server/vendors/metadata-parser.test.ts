import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import { createMetadataParser } from './metadata.ts';

const read = createMetadataParser(
  Type.Object({
    seed: Type.Optional(Type.Integer()),
    camera: Type.Optional(
      Type.Object({ type: Type.String(), config: Type.Optional(Type.Object({ pan: Type.Optional(Type.Number()) })) }),
    ),
    masks: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.Object({ mask: Type.String(), points: Type.Array(Type.Number()) }))]),
    ),
  }),
);

test('only named keys are kept, at every depth, and the given object is not changed', () => {
  const given = {
    seed: 7,
    base_url: 'http://evil.test',
    camera: { type: 'simple', host: 'evil.test', config: { pan: 1, api_key: 'x' } },
    masks: [{ mask: 'm', points: [1], key: 'x' }],
  };
  const before = structuredClone(given);
  assert.deepEqual(read(given), {
    seed: 7,
    camera: { type: 'simple', config: { pan: 1 } },
    masks: [{ mask: 'm', points: [1] }],
  });
  assert.deepEqual(given, before);
  assert.deepEqual(read(JSON.parse('{"__proto__": {"seed": 1}, "constructor": 1}')), {});
});

test('null counts as absent; a value of the wrong type is refused by its dotted name', () => {
  assert.deepEqual(read({ seed: null, camera: null }), {});
  const refused = (metadata: Record<string, unknown>) => {
    try {
      read(metadata);
    } catch (error) {
      return error instanceof UnsupportedRequestError ? error.param : error;
    }
    return 'accepted';
  };
  assert.equal(refused({ seed: '7' }), 'metadata.seed');
  assert.equal(refused({ seed: 1.5 }), 'metadata.seed');
  assert.equal(refused({ camera: 'simple' }), 'metadata.camera');
  assert.equal(refused({ camera: { type: 'simple', config: { pan: '1' } } }), 'metadata.camera.config.pan');
  assert.equal(refused({ masks: [{ mask: 'm', points: ['a'] }] }), 'metadata.masks.0.points.0');
});
