import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { edit, generate, one } from '../../../contract/generation-ways.ts';
import type { UsableModel } from '../../data/self.ts';
import {
  bodiesFor,
  controlsFor,
  EMPTY_DRAFT,
  fitDraftToModel,
  fromBody,
  MAX_COMPARED,
  modelsOfDraft,
  restoreDraft,
  toggleCompared,
} from './draft.ts';
import { toRequestInputs } from './inputs.ts';

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
      operations: ['generate'],
      ways: [],
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

describe('several videos of one prompt', () => {
  const seeded = { ...model('a', [5]), fields: { seconds: 'duration', seed: 'seed' } } as UsableModel;

  it('are as many requests, whose seeds differ', () => {
    const bodies = bodiesFor({ ...draft, count: 2 }, [seeded]);
    assert.deepEqual(
      bodies?.map((body) => (body as { readonly seed?: unknown }).seed),
      [undefined, undefined],
    );
    const fixed = bodiesFor({ ...draft, count: 4, seed: '7' }, [seeded]);
    assert.deepEqual(
      fixed?.map((body) => (body as { readonly seed?: unknown }).seed),
      [7, 8, 9, 10],
    );
  });

  it('are not multiplied by a comparison', () => {
    const compared = { ...draft, count: 4, compare: ['b'] } as const;
    assert.equal(bodiesFor(compared, modelsOfDraft(compared, MODELS))?.length, 2);
  });

  it('are one, two or four, whatever is stored', () => {
    for (const [stored, count] of [
      [undefined, 1],
      [0, 1],
      [3, 2],
      [99, 4],
    ] as const)
      assert.equal(restoreDraft({ count: stored as 1 | undefined }).count, count);
  });
});

describe('parameters for a combination of inputs', () => {
  const base = model('a', [4, 6, 8]);
  const used = {
    ...base,
    fields: { ...base.fields, resolution: 'size' },
    capability: {
      ...base.capability,
      resolutions: ['720p', '1080p'],
      ways: [
        generate([], { seconds: [4, 6, 8], resolutions: ['720p'] }),
        generate([], { seconds: [8], resolutions: ['1080p'] }),
        generate([one('image', 'first_frame')], { seconds: [4], resolutions: ['720p'] }),
        edit([one('video', 'source')], { seconds: [] }),
      ],
    },
  } as UsableModel;
  const form = { ...EMPTY_DRAFT, model: 'a', seconds: 6 };

  it('offers the lengths of the resolution, and resets a length it does not have', () => {
    assert.deepEqual(controlsFor(used, form).seconds, { values: [4, 6, 8], default: 4 });
    const { draft: fitted, dropped } = fitDraftToModel({ ...form, resolution: '1080p' }, used);
    assert.deepEqual([fitted.seconds, dropped], [8, ['seconds']]);
  });

  it('offers what the inputs permit, and no length where the source has it', () => {
    const input = { key: '1', type: 'image', role: 'first_frame', name: 'a.png' } as const;
    assert.deepEqual(controlsFor(used, { ...form, inputs: [input] }), {
      ...controlsFor(used, form),
      seconds: { values: [4], default: 4 },
      resolutions: ['720p'],
    });
    const { draft: edited } = fitDraftToModel({ ...form, operation: 'edit' }, used);
    assert.equal(edited.seconds, undefined);
  });
});

describe('a form in browser storage', () => {
  it('makes inputs of the images that earlier versions stored, with roles by their number', () => {
    const links = ['https://a.example/fox.png', 'https://a.example/owl.png'].map((src) => ({ src, name: src }));
    for (const stored of [{ pictures: links }, { images: links }])
      assert.deepEqual(
        restoreDraft({ model: 'a', ...stored }).inputs.map(({ role, source }) => [role, source]),
        [
          ['first_frame', { url: 'https://a.example/fox.png' }],
          ['last_frame', { url: 'https://a.example/owl.png' }],
        ],
      );
  });

  it('drops uploads that a reload interrupted', () => {
    const input = { key: '1', type: 'image', role: 'reference', name: 'a.png' } as const;
    const inputs = [input, { ...input, key: '2', source: { file_id: 'file-1' } }];
    assert.deepEqual(restoreDraft({ inputs }).inputs, inputs.slice(1));
  });
});

describe('a stored request', () => {
  it('fills the form again, with typed inputs and those of the older fields', () => {
    const { draft: filled, lostInputs } = fromBody(
      {
        model: 'a',
        prompt: 'A fox',
        operation: 'extend',
        duration: 5,
        inputs: [
          { type: 'video', role: 'source', file_id: 'task_1' },
          { type: 'image', role: 'keyframe', at: 2, url: 'https://a.example/k.png' },
          { type: 'image', data: 'AAAA' },
        ],
        image: 'data:image/png;base64,AAAA',
      },
      { seconds: 'duration' },
      EMPTY_DRAFT,
    );
    assert.deepEqual([filled.operation, filled.seconds, lostInputs], ['extend', 5, 2]);
    assert.deepEqual(toRequestInputs(filled.inputs), [
      { type: 'video', role: 'source', file_id: 'task_1' },
      { type: 'image', role: 'keyframe', at: 2, url: 'https://a.example/k.png' },
    ]);
  });
});
