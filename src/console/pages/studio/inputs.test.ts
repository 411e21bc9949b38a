import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  edit,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  generate,
  one,
  some,
  upTo,
} from '../../../contract/generation-ways.ts';
import type { UsableModel } from '../../data/self.ts';
import { addInput, checkInputs, type DraftInput, moveInput, promptNameOf, rolesFor } from './inputs.ts';

const MB = 1_000_000;
const model = {
  capability: {
    ways: [
      FROM_TEXT,
      fromFirstFrame({ maxBytes: 5 * MB }),
      fromBothFrames({ maxBytes: 5 * MB }),
      generate([some(4, 'image', 'reference'), upTo(2, 'video', 'reference')], { maxInputs: 5 }),
      edit([one('video', 'source'), upTo(1, 'image', 'mask')]),
    ],
  },
} as unknown as UsableModel;

let last = 0;
const file = (type: DraftInput['type'], bytes = 1_000) => ({
  key: String(++last),
  type,
  name: `${last}.bin`,
  bytes,
  source: { file_id: `file-${last}` },
});
const adding = (types: readonly DraftInput['type'][], used = model) =>
  types.reduce<readonly DraftInput[]>((all, type) => addInput(all, file(type), used, 'generate'), []);
const rolesOf = (inputs: readonly DraftInput[]) => inputs.map(({ role }) => role);
const kindsOf = (inputs: readonly DraftInput[], operation: 'generate' | 'edit' = 'generate') =>
  inputs.map(({ key }) => checkInputs(model, operation, inputs).problems.get(key)?.kind);

describe('the role of an added input', () => {
  it('is the first that leaves a possible combination; a third image makes all of them references', () => {
    assert.deepEqual(rolesOf(adding(['image'])), ['first_frame']);
    assert.deepEqual(rolesOf(adding(['image', 'image'])), ['first_frame', 'last_frame']);
    assert.deepEqual(rolesOf(adding(['image', 'image', 'image'])), ['reference', 'reference', 'reference']);
    assert.deepEqual(rolesOf(adding(['image', 'video'])), ['reference', 'reference']);
  });

  it('is only one the model takes for the operation', () => {
    assert.deepEqual(rolesFor(model, 'generate', 'image'), ['first_frame', 'last_frame', 'reference']);
    assert.deepEqual(rolesFor(model, 'edit', 'image'), ['mask']);
    assert.deepEqual(rolesFor(model, 'generate', 'audio'), []);
    assert.deepEqual(rolesOf(addInput([], file('video'), model, 'edit')), ['source']);
  });

  it('is the usual one for a model of unknown capabilities', () => {
    assert.deepEqual(rolesOf(adding(['image', 'image', 'image', 'audio'], { capability: null } as UsableModel)), [
      'first_frame',
      'last_frame',
      'reference',
      'reference',
    ]);
  });
});

describe('the check of inputs', () => {
  it('explains at the input what the model does not take', () => {
    assert.deepEqual(kindsOf(adding(['image', 'audio'])), [undefined, 'role']);
    assert.deepEqual(kindsOf(addInput([], file('image', 6 * MB), model, 'generate')), ['bytes']);
    assert.deepEqual(kindsOf(adding(['image', 'image', 'image', 'image', 'image'])), [
      ...[undefined, undefined, undefined, undefined],
      'count',
    ]);
  });

  it('marks the inputs outside the best combination', () => {
    const [first, ...others] = adding(['image', 'image', 'image']);
    const mixed = [{ ...(first ?? assert.fail()), role: 'first_frame' as const }, ...others];
    assert.deepEqual(kindsOf(mixed), ['together', undefined, undefined]);
  });

  it('names what is missing from a combination', () => {
    const [frame] = adding(['image']);
    const ending = [{ ...(frame ?? assert.fail()), role: 'last_frame' as const }];
    assert.deepEqual(
      checkInputs(model, 'generate', ending).missing.map(({ role }) => role),
      ['first_frame'],
    );
    assert.deepEqual(
      checkInputs(model, 'edit', []).missing.map(({ role }) => role),
      ['source'],
    );
    assert.deepEqual(checkInputs(model, 'generate', []).missing, []);
  });

  it('needs the time of a keyframe, with any model', () => {
    const keyframe = { ...file('image'), role: 'keyframe' as const };
    assert.deepEqual([...checkInputs(undefined, 'generate', [keyframe]).problems.values()], [{ kind: 'at' }]);
    assert.equal(checkInputs(undefined, 'generate', [{ ...keyframe, at: 2 }]).problems.size, 0);
  });
});

describe('the order of inputs', () => {
  it('changes within the list only, and decides the names in prompts', () => {
    const [one, two, three] = adding(['image', 'image', 'image']) as [DraftInput, DraftInput, DraftInput];
    assert.deepEqual(moveInput([one, two, three], three.key, 0), [three, one, two]);
    assert.deepEqual(moveInput([one, two, three], one.key, 9), [two, three, one]);
    const clip = { ...file('video'), role: 'reference' as const };
    assert.equal(promptNameOf([three, clip, one], one), '@Image2');
    assert.equal(promptNameOf([three, clip, one], clip), '@Video1');
  });
});
