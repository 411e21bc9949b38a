import assert from 'node:assert/strict';
import { test } from 'node:test';
import { undatedModel } from './metadata.ts';
import { familyOf } from './seedance/models.ts';
import { modelLineOf } from './wan/models.ts';

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
