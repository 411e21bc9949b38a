import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from 'typebox';
import { matchAspectRatio } from '../../contract/generation-ways.ts';
import { UnsupportedRequestError } from '../upstreams/upstream.ts';
import { createMetadataParser, parseSeconds, undatedModel } from './adapter.ts';
import { familyOf } from './seedance/models.ts';
import { modelLineOf } from './wan/models.ts';

describe('metadata parser', () => {
  const read = createMetadataParser(
    Type.Object({
      seed: Type.Optional(Type.Integer()),
      camera: Type.Optional(
        Type.Object({ type: Type.String(), config: Type.Optional(Type.Object({ pan: Type.Optional(Type.Number()) })) }),
      ),
      masks: Type.Optional(
        Type.Union([
          Type.String(),
          Type.Array(Type.Object({ mask: Type.String(), points: Type.Array(Type.Number()) })),
        ]),
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
});

describe('price factors', () => {
  test('seconds are whole and bounded, whether written as a number or as text', () => {
    assert.equal(parseSeconds('10', 'duration'), 10);
    assert.equal(parseSeconds(5, 'duration'), 5);
    for (const value of [0, -5, 1.5, '5.5', '1e3', '', 3_601, '99999', null, undefined, Number.NaN, [5], true]) {
      assert.throws(() => parseSeconds(value, 'duration'), UnsupportedRequestError, String(value));
    }
  });

  test('a size maps to a ratio only if it has one', () => {
    const ratios = ['16:9', '9:16', '1:1'];
    assert.equal(matchAspectRatio('1280x720', ratios), '16:9');
    assert.equal(matchAspectRatio('1080*1920', ratios), '9:16');
    assert.equal(matchAspectRatio('512x512', ratios), '1:1');
    assert.equal(matchAspectRatio('1024x1792', ratios), '9:16');
    for (const size of ['720P', '1024x1536', '0x0', 'x', '1280x', ''])
      assert.equal(matchAspectRatio(size, ratios), undefined, size);
  });
});

describe('undated model', () => {
  test('a date at the end of a name is not part of its model line; other numbers are', () => {
    for (const [dated, plain] of [
      ['wan2.7-t2v-2026-06-12', 'wan2.7-t2v'],
      ['doubao-seedance-1-0-pro-250528', 'doubao-seedance-1-0-pro'],
      ['gen4.5-20260101', 'gen4.5'],
      ['veo-3.1-generate-001', 'veo-3.1-generate-001'],
      ['model-123456', 'model-123456'],
    ] as const)
      assert.equal(undatedModel(dated), plain);
  });

  test('dated names have the fields of their model line', () => {
    assert.equal(modelLineOf('wan2.6-i2v-2026-01-09'), modelLineOf('wan2.6-i2v'));
    assert.equal(modelLineOf('wan2.1-t2v-plus-2025-05-01'), modelLineOf('wanx2.1-t2v-plus'));
    assert.equal(familyOf('dreamina-seedance-2-0-2026-07-01'), familyOf('dreamina-seedance-2-0-260128'));
    assert.notEqual(familyOf('doubao-seedance-1-0-pro-20250528'), undefined);
  });
});
