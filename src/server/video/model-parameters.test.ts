import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { GenerationWay } from '../../contract/generation-ways.ts';
import { VENDOR_ADAPTERS } from '../vendors/registry.ts';
import { secondsOf, toParameters } from './video-models.ts';

type Body = Readonly<Record<string, unknown>>;

function schemaOf(id: string) {
  const adapter = VENDOR_ADAPTERS.find(({ models }) => models.some((model) => model.id === id));
  const capability = adapter?.models.find((model) => model.id === id);
  assert.ok(adapter !== undefined && capability !== undefined, id);
  return Compile(toParameters(id, capability, adapter, undefined) as TSchema);
}

const inputsOf = (way: GenerationWay) =>
  way.inputs.flatMap(({ type, role, min }) => Array(min).fill({ type, role, url: 'https://a.example/a' }));

it('accepts every combination a model lists', () => {
  for (const { models } of VENDOR_ADAPTERS)
    for (const model of models) {
      const schema = schemaOf(model.id);
      for (const way of model.ways) {
        const inputs = inputsOf(way);
        const lengths = secondsOf(way, model);
        const sizes = [...(way.resolutions ?? model.resolutions), ...(way.sizes ?? model.sizes.slice(0, 1))];
        const body = {
          ...{ model: model.id, prompt: 'a' },
          ...(inputs.length > 0 && { inputs }),
          ...(way.operation !== 'generate' && { operation: way.operation }),
        };
        for (const seconds of [lengths[0], String(lengths.at(-1))].slice(0, lengths.length * 2))
          for (const size of sizes.length > 0 && way.resolutions !== undefined ? sizes.slice(0, 1) : [undefined])
            assert.ok(
              schema.Check({ ...body, seconds, ...(size !== undefined && { size }) }),
              JSON.stringify({ ...body, seconds, size }),
            );
      }
    }
});

it('refuses what does not go together', () => {
  const image = (role: string) => ({ type: 'image', role, url: 'https://a.example/a.png' });
  for (const body of [
    { model: 'MiniMax-Hailuo-2.3', seconds: 10, size: '1080P' },
    { model: 'MiniMax-Hailuo-2.3', seconds: 7 },
    { model: 'MiniMax-H3', inputs: [image('first_frame'), image('reference')] },
    { model: 'MiniMax-H3', inputs: Array(10).fill(image('reference')) },
    { model: 'kling-v2-1' },
    { model: 'gen4.5', operation: 'edit', inputs: [{ type: 'video', role: 'source', url: 'https://a.example/a' }] },
    { model: 'vidu2.0', seconds: 8, size: '1080p', inputs: [image('first_frame')] },
    { model: 'gemini-omni-1.2-flash', seconds: 12, inputs: [image('first_frame'), image('last_frame')] },
    { model: 'veo-3.1-generate-001', size: '720x1280', inputs: [image('reference')] },
    { model: 'veo-3.1-generate-001', metadata: { aspectRatio: '9:16' }, inputs: [image('reference')] },
    { model: 'kling-v3-turbo', metadata: { aspect_ratio: '16:9' }, inputs: [image('first_frame')] },
    { model: 'jimeng_v30', metadata: { aspect_ratio: '5:3' } },
  ] satisfies readonly Body[])
    assert.equal(schemaOf(body.model).Check({ prompt: 'a', ...body }), false, JSON.stringify(body));
});
