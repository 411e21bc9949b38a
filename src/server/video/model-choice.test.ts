import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { VendorId } from '../../contract/model-kinds.ts';
import type { ResolvedModel } from '../channels/directory.ts';
import { isAppError } from '../platform/app-error.ts';
import { VendorRegistry } from '../vendors/registry.ts';
import { ModelChoice } from './video-models.ts';

const ANYTHING = { models: [] };
const retirement = { at: 1, knownSince: 0 } as unknown as NonNullable<ResolvedModel['retirement']>;

const model = (vendor: VendorId, id: string, perSecond: number, more: Partial<ResolvedModel> = {}): ResolvedModel => ({
  ...{ id, target: id, vendor, kind: 'video', price: { per_call: 0, per_second: perSecond } },
  ...more,
});

function choose(models: readonly ResolvedModel[], defaultVideoModel?: string): ModelChoice {
  const channels = {
    listModels: async () => models.map(({ id, vendor, kind }) => ({ id, vendor, kind, createdAt: 0 })),
    model: async (id: string) => models.find((each) => each.id === id),
  };
  return new ModelChoice({
    channels,
    vendors: new VendorRegistry(),
    site: { current: () => ({ defaultVideoModel }) } as never,
  });
}

const MODELS = [
  model('sora', 'sora-2', 50),
  model('kling', 'kling-v3', 30),
  model('vidu', 'viduq2', 20, { retirement }),
  model('kling', 'kling-v2-1', 10),
  model('runway', 'aleph2', 0),
];

it('means the cheapest model that makes videos from text and is not retiring', async () => {
  assert.equal(await choose(MODELS).defaultModel(ANYTHING), 'kling-v3');
  assert.equal(await choose(MODELS).defaultModel({ models: ['sora-2', 'viduq2'] }), 'sora-2');
  assert.equal(await choose(MODELS, 'viduq2').defaultModel(ANYTHING), 'viduq2');
  await assert.rejects(
    choose([]).defaultModel(ANYTHING),
    (error) => isAppError(error) && error.options.param === 'model',
  );
});

it('names the models that can do what a model cannot', async () => {
  const { ways } = new VendorRegistry().capability('kling', 'kling-v3') ?? { ways: [] };
  const refused = choose(MODELS).assertOffers('edit', { model: 'kling-v3', capability: { ways } });
  await assert.rejects(refused, (error) => {
    assert.ok(isAppError(error, 'invalid_request'));
    assert.match(JSON.stringify(error.options.params), /Models that can edit: sora-2, aleph2\./);
    return true;
  });
  await choose(MODELS).assertOffers('edit', { model: 'unknown', capability: undefined });
});
