import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import type { GenerationWay, InputRule, InputType } from '../../src/contract/generation-ways.ts';
import { priceCall } from '../../src/contract/pricing.ts';
import { AppError } from '../../src/server/platform/app-error.ts';
import type { SchemaKeywords } from '../../src/server/platform/named-keys.ts';
import type { OutboundRequest } from '../../src/server/platform/outbound/outbound.ts';
import { type AdapterContext, UnsupportedRequestError } from '../../src/server/upstreams/upstream.ts';
import type { ModelCapability, RequestInput, VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { kling } from '../../src/server/vendors/kling/adapter.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { xai } from '../../src/server/vendors/xai/adapter.ts';
import { unusedPaths, withUsedMetadata, withUsedSize } from '../../src/server/video/dropped-fields.ts';
import { assertOffered, toPriceFacts } from '../../src/server/video/generation-request.ts';
import { fixedResponseContext, videoRequest } from './adapter-context.ts';
import { CONTRACT_CASES } from './load-contract-cases.ts';

/**
 * Each key of a vendor's metadata, and mode, length and size, alone, for every listed model, in each of its ways, over each
 * kind of channel: the key changes what the vendor receives, is refused by name before anything is reserved, or is
 * named as dropped and then neither sent nor priced. A new key or model is covered by being listed.
 */

type Metadata = VideoRequest['metadata'];
type Channel = Pick<AdapterContext, 'credentials' | 'options'>;

/** One channel for each kind of credentials; a vendor is called over those it has. */
const CHANNELS: readonly Channel[] = [
  { credentials: { api_key: 'key' }, options: {} },
  { credentials: { access_key: 'access', secret_key: 'secret' }, options: {} },
  {
    credentials: { service_account: { client_email: 'a@b', private_key: 'k' }, project: 'demo-1', location: 'eu' },
    options: { storage_uri: 'gs://bucket/videos' },
  },
];

/** Texts that are meaningful somewhere: an address, a location in the channel's bucket, and neither. */
const TEXTS = ['text', 'https://media.example/a.png', 'gs://bucket/videos/a'];

interface Key {
  /** Dotted. */
  readonly path: string;
  readonly values: readonly unknown[];
  /** Values without effect among others that have one are synonyms of the default, and not only one of them. */
  readonly hasSynonyms?: boolean;
}

type Keywords = SchemaKeywords & {
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly required?: readonly string[];
};

const COMMON_KEYS: readonly Key[] = [
  { path: 'mode', values: ['std', 'pro', '4k', 'other'] },
  { path: 'seconds', values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20] },
];

/** The forms of `size`: resolutions, ratios, and frames, which name a resolution where the inputs determine the ratio. */
function sizeKeys({ sizes, resolutions, ratios }: ModelCapability, way: GenerationWay): readonly Key[] {
  const isFixed = way.ratios?.length === 0;
  const frames = isFixed ? ['832x480', '1280x720', '720x1280', '1920x1080'] : ['1280x720', '720x1280'];
  const own = sizes.filter((each) => /\d[x*]\d/.test(each));
  return [
    { path: 'size', values: [...new Set([...resolutions, '720p', '1080p'].map((each) => each.toLowerCase()))] },
    { path: 'size', values: ratios.length === 0 ? ['16:9', '9:16'] : ratios },
    { path: 'size', values: own.length === 0 ? frames : own, hasSynonyms: isFixed },
  ];
}

const withValue = (request: VideoRequest, path: string, value: unknown): VideoRequest => ({
  ...request,
  ...path.split('.').reduceRight<Metadata>((inner, key) => ({ [key]: inner }), value as Metadata),
});

const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, key) => Object(inner)[key], value);

/** Values of a key in the requests of the vendor's contract cases. */
const samplesOf = (adapter: VendorAdapter, path: string): readonly unknown[] =>
  CONTRACT_CASES.filter(({ vendor }) => vendor.name === adapter.name)
    .flatMap((row) => [row.metadata, ...(row.moreMetadata ?? [])])
    .map(({ request }) => valueAt(request, path))
    .filter((value) => value !== undefined);

/** The keys that can be sent alone, with accepted values: objects with required keys and lists only as a whole. */
function keysOf(schema: TSchema, path: string, adapter: VendorAdapter, model: ModelCapability): readonly Key[] {
  const { properties, anyOf, type, enum: members, required = [], minimum = 1 } = schema as Keywords;
  if (anyOf?.[0] !== undefined) return keysOf(anyOf[0], path, adapter, model);
  if (properties !== undefined && required.length === 0)
    return Object.entries(properties).flatMap(([name, inner]) => keysOf(inner, `${path}.${name}`, adapter, model));
  const usual: Readonly<Record<string, readonly unknown[]>> = {
    boolean: [true, false],
    integer: [minimum, minimum + 1, 4, 6, 8, 121, 241],
    number: [0.25, 0.75],
    string: [...TEXTS, ...model.resolutions, ...model.ratios, ...model.sizes],
  };
  const all = [...(members ?? usual[type ?? ''] ?? []), ...samplesOf(adapter, path)];
  const distinct = [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
  return [{ path, values: distinct.filter((value) => Check(schema, value)) }];
}

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
const MP4 = Buffer.concat([Buffer.from('000000106674797069736f6d', 'hex'), Buffer.alloc(64)]);

function toInput({ type, role }: InputRule, index: number, adapter: VendorAdapter): RequestInput {
  const at = role === 'keyframe' ? { at: (index + 1) / 8 } : {};
  if (type === 'image') return { bytes: PNG, mediaType: 'image/png', role, ...at };
  if (type === 'video' && adapter.inlineBytes?.video !== undefined) return { bytes: MP4, mediaType: 'video/mp4', role };
  return { url: `https://media.example/${type}${index}`, role };
}

/** A request with as few inputs as the way needs. */
function toRequest(model: ModelCapability, way: GenerationWay, adapter: VendorAdapter): VideoRequest {
  const inputs = (wanted: InputType) =>
    way.inputs
      .filter(({ type }) => type === wanted)
      .flatMap((rule) => Array.from({ length: rule.min }, (_, index) => toInput(rule, index, adapter)));
  return videoRequest({
    model: model.id,
    images: inputs('image'),
    videos: inputs('video'),
    audios: inputs('audio'),
    ...(way.operation === 'generate' ? {} : { operation: way.operation, inputSeconds: 5 }),
  });
}

/** What reaches the vendor. */
async function sentBy(adapter: VendorAdapter, request: VideoRequest, channel: Channel): Promise<string> {
  const sent: string[] = [];
  await adapter.submit(request, {
    ...fixedResponseContext({}),
    ...channel,
    cachedSecret: async () => 'token',
    async sendJson({ method, url, body }: OutboundRequest) {
      sent.push(`${method} ${url} ${JSON.stringify(body)}`);
      return { status: 400, headers: {}, text: '{}', json: {} };
    },
  });
  assert.equal(sent.length, 1);
  return sent.join('');
}

/** The refusal before anything is reserved. */
function refusalOf(
  adapter: VendorAdapter,
  model: ModelCapability,
  request: VideoRequest,
  channel: Channel,
): AppError | UnsupportedRequestError | undefined {
  try {
    assertOffered(request, adapter, model);
    adapter.billingFactors(request);
    adapter.assertSendable?.(request, channel);
    return undefined;
  } catch (error) {
    if (error instanceof UnsupportedRequestError || error instanceof AppError) return error;
    throw error;
  }
}

/** Common fields that stand for a key in refusals: a key and the field exclude each other, or mean the same. */
const OTHER_NAMES = /^(image|images|inputs|duration|metadata\.parameters\.resolution)$/;

const paramOf = (refusal: AppError | UnsupportedRequestError): string =>
  (refusal instanceof AppError ? refusal.options.param : refusal.param) ?? '';

function isNamed(refusal: AppError | UnsupportedRequestError, path: string): boolean {
  const param = paramOf(refusal);
  return `${path}.`.startsWith(`${param}.`) || param.startsWith(`${path}.`) || OTHER_NAMES.test(param);
}

const priceOf = (adapter: VendorAdapter, { price }: ModelCapability, request: VideoRequest): number =>
  priceCall(price, toPriceFacts(price, adapter, request)).quota;

/** What is wrong with the fates of a key's values. */
async function problemsOf(
  { path, values, hasSynonyms = false }: Key,
  {
    adapter,
    model,
    base,
    channel,
  }: { adapter: VendorAdapter; model: ModelCapability; base: VideoRequest; channel: Channel },
): Promise<readonly string[]> {
  const plain = await sentBy(adapter, base, channel);
  const problems: string[] = [];
  let [ignored, refused, sent] = [0, 0, 0];
  let isDropped = false;
  for (const value of values) {
    const given = withValue(base, path, value);
    const offered = withUsedMetadata(given, adapter);
    const used = withUsedSize(offered, adapter, model);
    const refusal = refusalOf(adapter, model, offered, channel);
    if (refusal !== undefined) {
      refused += 1;
      if (!isNamed(refusal, path)) problems.push(`${JSON.stringify(value)} is refused as ${paramOf(refusal)}`);
      continue;
    }
    const names = [
      ...unusedPaths(given, adapter),
      ...unusedPaths(used, adapter, channel),
      ...(used.size === offered.size ? [] : ['size']),
    ];
    isDropped ||= names.some((name) => `${path}.`.startsWith(`${name}.`));
    if ((await sentBy(adapter, used, channel)) !== plain) sent += 1;
    else {
      ignored += 1;
      if (priceOf(adapter, model, used) !== priceOf(adapter, model, base))
        problems.push(`${JSON.stringify(value)} is priced, but not sent`);
    }
  }
  if (values.length === 0) problems.push('no value is known: add one to the contract cases');
  if (isDropped && sent > 0) problems.push('is named as dropped, but sent');
  // A single value without effect, among others that have one, is the default.
  const isDefault = refused + sent > 0 && (ignored === 1 || hasSynonyms);
  if (!isDropped && ignored > 0 && !isDefault) problems.push('is dropped in silence');
  return problems;
}

async function problemsWith(adapter: VendorAdapter, models = adapter.models): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const model of models) {
    const common = [...COMMON_KEYS, ...keysOf(adapter.metadata, 'metadata', adapter, model)];
    for (const channel of CHANNELS.filter(({ credentials }) => Check(adapter.credentials, credentials)))
      for (const way of model.ways) {
        const base = toRequest(model, way, adapter);
        if (refusalOf(adapter, model, base, channel) !== undefined) continue;
        const kinds = way.inputs.flatMap(({ role, min }) => (min > 0 ? [role] : [])).join(' + ');
        for (const key of [...common, ...sizeKeys(model, way)])
          for (const problem of await problemsOf(key, { adapter, model, base, channel }))
            problems.push(`${model.id}, ${way.operation} ${kinds}: ${key.path} ${problem}`);
      }
  }
  return [...new Set(problems)];
}

for (const adapter of VENDOR_ADAPTERS)
  test(`every key of ${adapter.title} is sent, refused by name or named as dropped`, async () => {
    assert.deepEqual((await problemsWith(adapter)).slice(0, 20), []);
  });

test('a key that an adapter ignores is found', async () => {
  const forgetful: VendorAdapter = { ...xai, droppedMetadata: () => [] };
  const wrong: VendorAdapter = { ...xai, droppedMetadata: () => ['user'] };
  assert.deepEqual(await problemsWith(forgetful, xai.models.slice(0, 1)), [
    'grok-imagine-video-1.5, extend source: metadata.user is dropped in silence',
  ]);
  assert.deepEqual(await problemsWith(wrong), []);
  const undeclared = kling.models
    .filter(({ id }) => id === 'kling-v3-turbo')
    .map((model) => ({ ...model, ways: model.ways.map(({ ratios: _, ...way }) => way) }));
  assert.deepEqual(await problemsWith(kling, undeclared), [
    'kling-v3-turbo, generate first_frame: size is dropped in silence',
  ]);
});
