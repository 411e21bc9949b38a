import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isAppError } from '../platform/app-error.ts';
import { NO_IMAGES } from '../platform/json.ts';
import { VENDOR_ADAPTERS } from '../vendors/registry.ts';
import {
  assertInputsFit,
  type InputUse,
  type ResolvedInput,
  sortInputs,
  spellNames,
  withRoles,
} from './input-resolver.ts';
import { parseInputs, parseOperation, typeOfMedia } from './request-media.ts';

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
const url = 'https://media.example/a.png';
const parse = (inputs: unknown, files: readonly string[] = []) =>
  parseInputs(
    inputs,
    files.map((field) => ({ field, filename: 'a b.png', mimeType: 'text/plain', bytes: PNG })),
    NO_IMAGES,
  );

function resolve(inputs: unknown, use: InputUse): readonly ResolvedInput[] {
  const given = parse(inputs).map((input) => ({
    ...input,
    type: input.type ?? typeOfMedia('bytes' in input.source ? input.source.mediaType : 'image/png'),
    media: 'fileId' in input.source ? { url } : input.source,
  }));
  return withRoles(given, use);
}

function useOf(model: string, operation: InputUse['operation'] = 'generate'): InputUse {
  const capability = VENDOR_ADAPTERS.flatMap(({ models }) => models).find(({ id }) => id === model);
  assert.ok(capability !== undefined, model);
  return { model, operation, capability };
}

const refusedAt = (act: () => unknown, param: string): void =>
  assert.throws(act, (error) => isAppError(error, 'invalid_request') && error.options.param === param, param);

it('reads every form of an input', () => {
  const data = PNG.toString('base64');
  for (const inputs of [
    [{ type: 'image', url }],
    [{ type: ' Image_URL ', image_url: { url } }],
    { 0: { type: 'image', url, role: null } },
    JSON.stringify([{ type: 'image', url }]),
  ])
    assert.deepEqual(parse(inputs), [{ param: 'inputs[0]', type: 'image', role: undefined, source: { url } }]);
  for (const inputs of [[{ data }], [{ url: `data:image/png;base64,${data}` }], [{ type: 'image', data }]]) {
    const [input] = parse(inputs);
    assert.ok(input !== undefined && 'bytes' in input.source && input.source.bytes.equals(PNG));
    assert.deepEqual([input.type, input.source.mediaType], ['image', 'image/png']);
  }
  const [uploaded] = parse({ 0: { role: 'Last-Frame' } }, ['inputs[0].file']);
  assert.ok(uploaded !== undefined && 'bytes' in uploaded.source);
  assert.deepEqual([uploaded.role, uploaded.source.filename], ['last_frame', 'a_b.png']);
  assert.deepEqual(parse([{ file_id: 'file-1' }])[0]?.source, { fileId: 'file-1' });
  for (const none of [undefined, null, '', [], {}]) assert.deepEqual(parse(none), []);
});

it('names the field of an error', () => {
  for (const [inputs, param] of [
    ['no json', 'inputs'],
    [{ first: {} }, 'inputs'],
    [['a'], 'inputs[0]'],
    [[{ type: 'image' }], 'inputs[0]'],
    [[{ type: 'image', url, file_id: 'f' }], 'inputs[0]'],
    [[{ url }], 'inputs[0].type'],
    [[{ type: 'text', url }], 'inputs[0].type'],
    [[{ type: 'video', data: PNG.toString('base64') }], 'inputs[0].type'],
    [[{ type: 'image', url, role: 'director' }], 'inputs[0].role'],
    [[{ type: 'image', url: 'ftp://a.example/a' }], 'inputs[0].url'],
    [[{ type: 'image', url: 'http://10.0.0.1/a.png' }], 'inputs[0].url'],
    [JSON.stringify([{ type: 'image', image_url: { url: 'http://10.0.0.1/a.png' } }]), 'inputs[0].url'],
    [[{ type: 'image', data: 'abc' }], 'inputs[0].data'],
    [[{ type: 'image', url, role: 'keyframe' }], 'inputs[0].at'],
    [[{ type: 'image', url, at: 2 }], 'inputs[0].at'],
    [[{ type: 'image', url, name: 'a b' }], 'inputs[0].name'],
    [[{ type: 'image', url, weight: 1 }], 'inputs[0].weight'],
    [Array(65).fill({ type: 'image', url }), 'inputs'],
  ] as const)
    refusedAt(() => parse(inputs), param);
  refusedAt(() => parseOperation('upscale'), 'operation');
  assert.deepEqual([parseOperation(undefined), parseOperation(' Edit ')], ['generate', 'edit']);
});

it('fills in roles that were left out', () => {
  const rolesOf = (inputs: unknown, use: InputUse) => resolve(inputs, use).map(({ role }) => role);
  const image = { type: 'image', url };
  const video = { type: 'video', url };
  assert.deepEqual(rolesOf([image], useOf('MiniMax-H3')), ['first_frame']);
  assert.deepEqual(rolesOf([image, image], useOf('MiniMax-H3')), ['reference', 'reference']);
  assert.deepEqual(rolesOf([image], useOf('S2V-01')), ['reference']);
  assert.deepEqual(rolesOf([video, image], useOf('wan2.7-videoedit', 'edit')), ['source', 'reference']);
  assert.deepEqual(rolesOf([image, { type: 'audio', url }], useOf('wan2.7-i2v')), ['first_frame', 'voice']);
});

it('refuses what a model does not take, by name and with what it takes', () => {
  const check = (inputs: unknown, use: InputUse) => assertInputsFit(resolve(inputs, use), use);
  const reference = { type: 'image', url, role: 'reference' };
  const first = { type: 'image', url, role: 'first_frame' };
  check([reference], useOf('MiniMax-H3'));
  refusedAt(() => check([reference], useOf('MiniMax-H3-Max')), 'inputs[0].role');
  refusedAt(() => check([{ type: 'audio', url }], useOf('kling-v3')), 'inputs[0].type');
  refusedAt(() => check([first, first], useOf('kling-v3')), 'inputs[1]');
  refusedAt(() => check([first, reference], useOf('MiniMax-H3')), 'inputs');
  refusedAt(() => check([{ type: 'audio', url, role: 'reference' }], useOf('MiniMax-H3')), 'inputs');
  refusedAt(() => check([], useOf('kling-v2-1')), 'inputs');
  assert.throws(
    () => check([reference], useOf('kling-v3')),
    (error) =>
      isAppError(error) &&
      /kling-v3 takes: no inputs; image first_frame; image first_frame \+ image last_frame/.test(
        JSON.stringify(error.options.params),
      ),
  );
  assertInputsFit(resolve([first, reference], useOf('MiniMax-H3')), {
    model: 'unknown',
    operation: 'generate',
    capability: undefined,
  });
});

it('refuses files that are too large or too long', () => {
  const [input] = resolve([{ type: 'video', url, role: 'source' }], useOf('wan2.7-videoedit', 'edit'));
  assert.ok(input !== undefined);
  refusedAt(() => assertInputsFit([{ ...input, seconds: 11 }], useOf('wan2.7-videoedit', 'edit')), 'inputs[0]');
  const bytes = Buffer.alloc(11_000_000);
  const large = { ...input, type: 'image', role: 'first_frame', media: { bytes, mediaType: 'image/png' } } as const;
  refusedAt(() => assertInputsFit([large], useOf('kling-v3')), 'inputs[0]');
});

it('spells the names of inputs as the vendor does', () => {
  const inputs = resolve(
    [
      { type: 'image', url, role: 'reference', name: 'cat' },
      { type: 'image', url, role: 'first_frame' },
      { type: 'video', url, role: 'reference', name: 'cat_run' },
    ],
    { model: 'm', operation: 'generate', capability: undefined },
  );
  const { ordered } = sortInputs(inputs);
  const kling = VENDOR_ADAPTERS.find(({ name }) => name === 'kling')?.promptName;
  const prompt = '@cat jumps like @cat_run over @图2, @image1 and @Image9; mail me@cat.example';
  assert.equal(
    spellNames('@cat jumps like @cat_run over @图2, @image1 and @Image9', inputs, ordered, kling),
    '<<<image_2>>> jumps like <<<video_1>>> over <<<image_1>>>, <<<image_2>>> and @Image9',
  );
  assert.equal(spellNames(prompt, [], ordered, kling), prompt);
  assert.equal(spellNames('@cat and @Image1', inputs, ordered, undefined), '@Image2 and @Image1');
});
