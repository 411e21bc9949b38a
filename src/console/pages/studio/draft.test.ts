import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UsableModel } from '../../data/models.ts';
import { bodiesFor, EMPTY_DRAFT, MAX_COMPARED, modelsOfDraft, restoreDraft, toggleCompared } from './draft.ts';

const model = (id: string, seconds: readonly number[], permitted = true): UsableModel =>
  ({
    id,
    permitted,
    fields: { seconds: 'duration' },
    input_schema: null,
    capability: {
      title: id,
      seconds: { values: seconds, default: seconds[0] },
      ratios: [],
      resolutions: [],
      sizes: [],
      modes: [],
      audio: false,
      negative_prompt: false,
      seed: false,
      images: { min: 0, max: 1, roles: [] },
    },
  }) as unknown as UsableModel;
const MODELS = [model('a', [5, 10]), model('b', [4, 8]), model('c', [5], false)];
const draft = { ...EMPTY_DRAFT, model: 'a', prompt: 'A fox', seconds: 10 };

describe('a comparison of models', () => {
  it('sends each model only the parameters it supports, and leaves the form unchanged', () => {
    const compared = { ...draft, compare: ['b'] };
    const bodies = bodiesFor(compared, modelsOfDraft(compared, MODELS));
    assert.deepEqual(bodies, [
      { model: 'a', prompt: 'A fox', duration: 10 },
      { model: 'b', prompt: 'A fox', duration: 4 },
    ]);
  });

  it('omits models that are gone or outside the plan, and duplicates', () => {
    const ids = modelsOfDraft({ ...draft, compare: ['a', 'c', 'gone', 'b'] }, MODELS).map(({ id }) => id);
    assert.deepEqual(ids, ['a', 'b']);
  });

  it('has no requests while the additional parameters are not valid JSON', () => {
    assert.equal(bodiesFor({ ...draft, metadata: '{' }, MODELS), undefined);
  });

  it('adds at most four models, and removes each again', () => {
    let compare = draft.compare;
    for (const id of ['a', 'b', 'd', 'e', 'f']) compare = toggleCompared({ ...draft, compare }, id);
    assert.deepEqual(compare, ['b', 'd', 'e']);
    assert.equal(compare.length + 1, MAX_COMPARED);
    assert.deepEqual(toggleCompared({ ...draft, compare }, 'd'), ['b', 'e']);
  });
});

describe('a form in browser storage', () => {
  it('keeps the images that earlier versions stored as pictures', () => {
    const images = [{ src: 'https://a.example/fox.png', name: 'fox.png' }];
    assert.deepEqual(restoreDraft({ model: 'a', pictures: images }), { ...EMPTY_DRAFT, model: 'a', images });
    assert.deepEqual(restoreDraft({ images, pictures: [] }).images, images);
  });
});
