import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { GenerationWay, InputRule } from '../../src/contract/generation-ways.ts';
import { manualClock } from '../../src/sandbox/jobs.ts';
import { ALL_SIMULATORS, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ModelCapability, RequestInput, VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { allSeconds } from '../../src/server/video/video-models.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';

/**
 * Every combination a model lists is sent to its vendor's simulator, which refuses what the vendor refuses: each
 * resolution with the shortest, the usual and the longest video, each length, each ratio, and each number of inputs at
 * its minimum and maximum.
 */

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
const MP4 = Buffer.concat([Buffer.from('0000001066747970', 'hex'), Buffer.from('isom'), Buffer.alloc(64)]);

function toInput(rule: InputRule, index: number, adapter: VendorAdapter): RequestInput {
  const { type, role } = rule;
  const at = role === 'keyframe' ? { at: (index + 1) / 8 } : {};
  if (type === 'image')
    return { bytes: Buffer.concat([PNG, Buffer.from([index])]), mediaType: 'image/png', role, ...at };
  if (type === 'video' && (adapter.inlineBytes?.video ?? 0) > 0) return { bytes: MP4, mediaType: 'video/mp4', role };
  return { url: `https://media.example/${type}${index}`, role };
}

function withInputs(way: GenerationWay, adapter: VendorAdapter, isMax: boolean): Partial<VideoRequest> {
  let left = way.maxInputs ?? Number.POSITIVE_INFINITY;
  const inputs = way.inputs.flatMap((rule) => {
    const count = Math.min(isMax ? rule.max : rule.min, left);
    left -= count;
    return Array.from({ length: count }, (_, index) => [rule.type, toInput(rule, index, adapter)] as const);
  });
  const of = (type: InputRule['type']) => inputs.flatMap(([each, input]) => (each === type ? [input] : []));
  const operation = way.operation === 'generate' ? {} : { operation: way.operation, inputSeconds: 5 };
  return { images: of('image'), videos: of('video'), audios: of('audio'), ...operation };
}

/** A frame of the ratio, in pixels. */
function toFrame(ratio: string): string {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  const short = 720 / Math.min(width, height);
  return `${Math.round(width * short)}x${Math.round(height * short)}`;
}

type Choice = Pick<Partial<VideoRequest>, 'seconds' | 'size' | 'mode'>;

/** What may be chosen in one way of using a model. */
function choicesOf(way: GenerationWay, model: ModelCapability): readonly Choice[] {
  const lengths = way.seconds ?? allSeconds(model);
  const resolutions = way.resolutions ?? model.resolutions;
  const exact = (way.sizes ?? model.sizes).filter((size) => /\d[x*]\d/.test(size));
  const frames = way.operation === 'generate' && way.resolutions === undefined ? exact : [];
  const ratios = exact.length > 0 ? [] : (way.ratios ?? model.ratios);
  const [shortest, longest] = [lengths[0], lengths.at(-1)];
  const size = resolutions[0];
  const base = (seconds: number | undefined): Choice => (seconds === undefined ? {} : { seconds });
  const sized =
    way.ratios?.length === 0 && way.operation !== 'generate' && resolutions.length === 0
      ? {}
      : size === undefined
        ? {}
        : { size };
  return [
    ...resolutions.flatMap((each) => [shortest, longest].map((seconds) => ({ ...base(seconds), size: each }))),
    ...lengths.map((seconds) => ({ seconds, ...sized })),
    ...frames.map((each) => ({ ...base(longest), size: each })),
    ...ratios.map((ratio) => ({ ...base(shortest), size: toFrame(ratio) })),
    ...model.modes.map((mode) => ({ ...base(shortest), mode })),
    base(shortest),
  ];
}

for (const adapter of VENDOR_ADAPTERS) {
  const simulators = ALL_SIMULATORS.filter(({ name, vendor }) => (vendor ?? name) === adapter.name);
  test(`the simulator of ${adapter.title} accepts every combination its models list`, async () => {
    const sandbox = await startSandbox({ simulators, clock: manualClock() });
    after(() => sandbox.stop());
    const refused: string[] = [];
    let sent = 0;
    for (const model of adapter.models) {
      const simulator = simulators.find(({ models }) => models?.test(model.id) !== false);
      if (simulator === undefined) continue;
      const context = sandboxContext(sandbox, simulator.name, { timeoutMs: 20_000 });
      for (const way of model.ways)
        for (const [index, choice] of choicesOf(way, model).entries())
          for (const isMax of index === 0 ? [false, true] : [false]) {
            sent += 1;
            const taskId = `task_${String(sent).padStart(32, '0')}`;
            const request = videoRequest({ model: model.id, taskId, ...withInputs(way, adapter, isMax), ...choice });
            const roles = way.inputs.map(({ type, role }) => `${type} ${role}`).join(' + ');
            const name = `${model.id} ${way.operation} ${roles} ${JSON.stringify(choice)}${isMax ? ' max' : ''}`;
            try {
              adapter.billingFactors(request);
              const outcome = await adapter.submit(request, context);
              if (outcome.kind === 'refused') refused.push(`${name}: ${outcome.error.message}`);
            } catch (error) {
              refused.push(`${name}: ${String(error)}`);
            }
          }
    }
    assert.ok(sent > adapter.models.length);
    assert.deepEqual(refused.slice(0, 40), []);
  });
}
