import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { priceMedia } from '../../../contract/pricing.ts';
import { type BufferedResponse, OutboundError, type OutboundRequest } from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import { cny, type MediaInput, type VideoRequest } from '../adapter.ts';
import { ERROR_CLASSES, pathOf, toBody, toError, wan } from './adapter.ts';
import { requestKindOf } from './models.ts';

const replies = recordedReplies('wan');
const ID = '3c5a9d0e-41b7-4f57-b0c6-6a2f4f0d9b21';
const HANDLE = { id: ID };
const WORDS = 'wan2.5-t2v-preview';
const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
const at = (name: string) => `https://images.example/${name}.png`;
type Fields = Readonly<Record<string, unknown>>;
function body(request: Partial<VideoRequest>): { input: Fields; parameters: Fields } {
  return toBody(videoRequest({ model: WORDS, ...request })) as unknown as { input: Fields; parameters: Fields };
}
const query = (json: unknown, status = 200) => wan.query(HANDLE, fixedResponseContext({ json, status }));

test('defaults: five seconds, the size of the model, extended prompts, and nothing else', () => {
  const { prompt } = videoRequest({ model: WORDS });
  assert.deepEqual(body({}), {
    model: WORDS,
    input: { prompt },
    parameters: { size: '1920*1080', duration: 5, prompt_extend: true },
  });
  assert.deepEqual(body({ model: 'wan2.2-t2v-plus' }).parameters, { size: '1920*1080', prompt_extend: true });
  assert.deepEqual(body({ model: 'wanx2.1-t2v-plus' }).parameters.size, '1280*720');
});

test('only the two levels of the metadata table are sent, and no flat keys', () => {
  const input = {
    negative_prompt: 'text',
    first_frame_url: at('a'),
    last_frame_url: at('b'),
    audio_url: 'https://sounds.example/a.mp3',
    template: 'flying',
  };
  const parameters = {
    resolution: '720P',
    size: '1280*720',
    prompt_extend: false,
    watermark: true,
    audio: false,
    seed: 42,
  };
  const sent = body({
    metadata: {
      input: { ...input, img_url: 'https://canary.example', host: 'x' },
      parameters: { ...parameters, duration: 10, n: 4 },
      negative_prompt: 'flat',
      model: 'other',
      base_url: 'https://canary.example',
    },
  });
  const { prompt } = videoRequest({ model: WORDS });
  assert.deepEqual(sent, { model: WORDS, input: { prompt, ...input }, parameters: { ...parameters, duration: 5 } });
});

test('images are sent in the fields of the model line', () => {
  const input = (model: string, ...names: string[]) => {
    const { prompt: _, ...rest } = body({ model, images: names.map(url) }).input;
    return rest;
  };
  assert.deepEqual(input('wan2.5-i2v-preview', 'a'), { img_url: at('a') });
  assert.deepEqual(input('wan2.2-kf2v-flash', 'a', 'b'), { first_frame_url: at('a'), last_frame_url: at('b') });
  assert.deepEqual(input('wan2.6-r2v', 'a', 'b'), { reference_urls: [at('a'), at('b')] });
  const media = (...types: string[]) => ({
    media: types.map((type, index) => ({ type, url: at('abcde'[index] ?? '') })),
  });
  assert.deepEqual(input('wan2.7-i2v', 'a', 'b'), media('first_frame', 'last_frame'));
  assert.deepEqual(input('wan2.7-r2v', 'a'), media('reference_image'));
  assert.deepEqual(input('wan3.0-video', 'a', 'b', 'c'), media(...Array(3).fill('reference_image')));
  assert.deepEqual(input('wan3.0-video'), {});
});

test('no video is marked unless the request asks for it', () => {
  const marked = (model: string, metadata: Fields = {}) => body({ model, metadata }).parameters.watermark;
  assert.equal(marked('wan2.7-t2v'), undefined);
  for (const model of ['happyhorse-1.0-t2v', 'happyhorse-1.1-t2v'])
    assert.deepEqual([marked(model), marked(model, { parameters: { watermark: true } })], [false, true]);
});

test('up to five seconds of videos to refer to or to extend are billed too', () => {
  const clip = { url: 'https://videos.example/a.mp4', role: 'reference' as const };
  const source = { ...clip, role: 'source' as const };
  const reserved = (request: Partial<VideoRequest>) =>
    wan.billingFactors(videoRequest({ model: 'wan2.7-r2v', ...request })).inputSeconds;
  assert.equal(reserved({ images: [url('a')] }), undefined);
  for (const model of ['wan2.6-r2v', 'wan2.6-r2v-flash', 'wan2.7-r2v'])
    assert.deepEqual(
      [
        reserved({ model, videos: [clip] }),
        reserved({ model, videos: [clip], inputSeconds: 3 }),
        reserved({ model, videos: [clip, clip], inputSeconds: 20 }),
      ],
      [5, 3, 5],
      model,
    );
  for (const model of ['wan3.0-video', 'wan3.0-video-prime'])
    assert.deepEqual(
      [reserved({ model, videos: [clip] }), reserved({ model, videos: [clip], inputSeconds: 12 })],
      [15, 12],
    );
  assert.equal(reserved({ model: 'wan2.7-i2v', operation: 'extend', videos: [source], inputSeconds: 8 }), 5);
  const usage = { duration: 8, input_video_duration: 3, output_video_duration: 5 };
  assert.deepEqual(wan.billedFacts?.({ usage }), { seconds: 5, input_seconds: 3 });
  const none = { duration: '5.0', input_video_duration: 0, output_video_duration: '5.0' };
  assert.deepEqual(wan.billedFacts?.({ usage: none }), { seconds: 5, input_seconds: 0 });
});

test('a video to be edited comes first in the list, and its own seconds are reserved too', () => {
  const model = 'wan2.7-videoedit';
  const video_url = 'https://videos.example/a.mp4';
  const edit = (more: Fields = {}) => ({ input: { video_url }, ...more });
  const sent = body({ model, images: [url('a')], metadata: edit({ parameters: { audio_setting: 'origin' } }) });
  assert.deepEqual(sent.input.media, [
    { type: 'video', url: video_url },
    { type: 'reference_image', url: at('a') },
  ]);
  assert.deepEqual(sent.parameters, { resolution: '1080P', prompt_extend: true, audio_setting: 'origin' });
  assert.equal(body({ model, seconds: 4, size: '720x1280', metadata: edit() }).parameters.ratio, '9:16');
  const reserved = (request: Partial<VideoRequest>) => {
    const { seconds, inputSeconds } = wan.billingFactors(videoRequest({ model, metadata: edit(), ...request }));
    return [seconds, inputSeconds];
  };
  assert.deepEqual(
    [reserved({}), reserved({ seconds: 4 }), reserved({ inputSeconds: 6 })],
    [
      [10, 10],
      [4, 10],
      [6, 6],
    ],
  );
  const billed = { seconds: 5, input_seconds: 5 };
  assert.deepEqual(wan.billedFacts?.({ usage: { duration: 9.2, input_video_duration: 4.6 } }), billed);
  for (const [request, param] of [
    [{ model }, 'metadata.input.video_url'],
    [{ model, metadata: { input: { video_url: 'file:///etc/passwd' } } }, 'metadata.input.video_url'],
    [{ model: 'wan2.7-t2v', metadata: edit() }, 'metadata.input.video_url'],
    [{ model, seconds: 11, metadata: edit() }, 'duration'],
    [{ model, images: 'abcde'.split('').map(url), metadata: edit() }, 'images'],
  ] as const)
    assert.throws(
      () => body(request as Partial<VideoRequest>),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
});

test('frames and audio of the metadata become media where the protocol supports them', () => {
  const metadata = { input: { last_frame_url: at('z'), audio_url: 'https://sounds.example/a.mp3' } };
  assert.deepEqual(body({ model: 'wan2.7-i2v', images: [url('a')], metadata }).input.media, [
    { type: 'first_frame', url: at('a') },
    { type: 'last_frame', url: at('z') },
    { type: 'driving_audio', url: 'https://sounds.example/a.mp3' },
  ]);
});

test('Wan 3 takes audio as a reference, and frames or references', () => {
  const audio = { url: 'https://sounds.example/a.mp3', role: 'voice' as const };
  const clip = { url: 'https://videos.example/a.mp4', role: 'reference' as const };
  const model = 'wan3.0-video';
  assert.deepEqual(body({ model, audios: [audio] }).input.media, [{ type: 'reference_audio', url: audio.url }]);
  const reference = { ...url('a'), role: 'reference' as const };
  assert.deepEqual(body({ model, images: [reference], videos: [clip], audios: [audio] }).input.media, [
    { type: 'reference_image', url: at('a') },
    { type: 'reference_video', url: clip.url },
    { type: 'reference_audio', url: audio.url },
  ]);
  const frame = { ...url('a'), role: 'first_frame' as const };
  for (const [request, param] of [
    [{ images: [frame], audios: [audio] }, 'inputs'],
    [{ images: [frame], videos: [clip] }, 'inputs'],
    [{ images: [reference], metadata: { input: { last_frame_url: at('z') } } }, 'metadata.input.last_frame_url'],
  ] as const)
    assert.throws(
      () => body({ model, ...request }),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
});

test('Base64 is sent in a data: URL', () => {
  const images: MediaInput[] = [{ bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' }];
  assert.equal(body({ model: 'wan2.2-i2v-plus', images }).input.img_url, 'data:image/png;base64,iVBORw0KGgo=');
});

for (const [model, size, expected] of [
  [WORDS, '1280x720', { size: '1280*720' }],
  [WORDS, '720*1280', { size: '720*1280' }],
  [WORDS, '480p', { size: '832*480' }],
  ['wan2.5-i2v-preview', '720p', { resolution: '720P' }],
  ['wan2.5-i2v-preview', '1280x720', { resolution: '720P' }],
  ['wan2.7-t2v', '1080x1920', { resolution: '1080P', ratio: '9:16' }],
] as const) {
  test(`size ${size} of ${model} is ${JSON.stringify(expected)}`, () => {
    const images = model.includes('i2v') ? [url('a')] : [];
    const { duration: _, prompt_extend: __, ...rest } = body({ model, size, images }).parameters;
    assert.deepEqual(rest, expected);
  });
}

const REFUSED: readonly (readonly [Partial<VideoRequest>, string])[] = [
  [{ mode: 'pro' }, 'mode'],
  [{ seconds: 6 }, 'duration'],
  [{ model: 'wan2.2-t2v-plus', seconds: 8 }, 'duration'],
  [{ model: 'wan2.6-t2v', seconds: 16 }, 'duration'],
  [{ size: '1024x1792' }, 'size'],
  [{ model: 'wan2.2-t2v-plus', size: '720P' }, 'size'],
  [{ model: 'wan2.6-i2v', images: [url('a')], size: 'large' }, 'size'],
  [{ model: 'wan2.7-t2v', size: '1280x300' }, 'size'],
  [{ images: [url('a')] }, 'image'],
  [{ model: 'wan2.6-i2v' }, 'image'],
  [{ model: 'wan2.6-i2v', images: [url('a'), url('b')] }, 'images'],
  [{ model: 'wan2.2-kf2v-flash', images: [url('a')], metadata: { input: { first_frame_url: at('z') } } }, 'image'],
  [{ metadata: { parameters: { seed: '42' } } }, 'metadata.parameters.seed'],
];
for (const [request, param] of REFUSED) {
  test(`${param} of ${JSON.stringify(request).slice(0, 90)} is refused`, () => {
    assert.throws(
      () => body(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
  });
}

test('the price follows length, class and audio', () => {
  const meter = (request: Partial<VideoRequest>) => wan.billingFactors(videoRequest({ model: WORDS, ...request }));
  assert.deepEqual(meter({ seconds: 10 }), { seconds: 10, factors: { resolution: '1080P' } });
  assert.deepEqual(meter({ size: '832x480' }).factors, { resolution: '480P', size: '832x480' });
  const both = { parameters: { size: '832*480', resolution: '1080P' } };
  assert.equal(meter({ metadata: both }).factors.resolution, '480P');
  const image = { model: 'wan2.5-i2v-preview', images: [url('a')] };
  assert.equal(meter({ ...image, metadata: both }).factors.resolution, '1080P');
  const silent = { parameters: { audio: false } };
  const flash = meter({ model: 'wan2.6-i2v-flash', images: [url('a')], metadata: silent });
  assert.deepEqual(flash.factors, { resolution: '1080P', audio: 'false' });
  const references = meter({ model: 'wan2.6-r2v-flash', images: [url('a')], metadata: silent });
  assert.deepEqual(references.factors, { resolution: '1080P', audio: 'false' });
  assert.equal(meter({ extraFields: [{ path: 'parameters.duration', value: 10 }] }).seconds, 10);
});

test('wan2.6-r2v-flash costs half without audio, for videos it refers to as well', () => {
  const capability = wan.models.find(({ id }) => id === 'wan2.6-r2v-flash');
  const price = (audio: boolean, hasVideo: boolean) => {
    const factors = { resolution: '720P', audio: String(audio), input_video: String(hasVideo) };
    return priceMedia(capability?.price ?? {}, { seconds: 5, inputSeconds: hasVideo ? 5 : 0, factors }).quota;
  };
  assert.deepEqual([price(true, false), price(false, false)], [cny(0.3) * 5, cny(0.15) * 5]);
  assert.deepEqual([price(true, true), price(false, true)], [cny(0.3) * 10, cny(0.15) * 10]);
});

test('HappyHorse has more ratios than Wan', () => {
  const ratio = (model: string, size: string) => body({ model, size }).parameters.ratio;
  assert.deepEqual(
    ['1024x1280', '1280x1024', '2100x900', '900x2100'].map((size) => ratio('happyhorse-1.1-t2v', size)),
    ['4:5', '5:4', '21:9', '9:21'],
  );
  assert.throws(() => ratio('wan2.7-t2v', '2100x900'), UnsupportedRequestError);
});

test('the name of an unknown model determines its request format', () => {
  const names = ['wan2.1-kf2v-plus', 'wan2.9-i2v', 'wan2.4-t2v', 'wan4-video', 'wan2.9-videoedit'];
  assert.deepEqual(names.map(requestKindOf), ['frames', 'media-image', 'words', 'media-all', 'media-edit']);
});

const json = (value: unknown): BufferedResponse => ({
  status: 200,
  headers: {},
  text: JSON.stringify(value),
  json: value,
});

test('the request is asynchronous, uses the path of its line, and accepts a base URL with a path', async () => {
  const sent: OutboundRequest[] = [];
  const call = {
    ...fixedResponseContext({}),
    baseUrl: 'https://vendor.test/api/v1',
    sendJson: async (request: OutboundRequest) => {
      sent.push(request);
      return json(replies.accepted);
    },
  };
  await wan.submit(videoRequest({ model: WORDS }), call);
  await wan.submit(videoRequest({ model: 'wan2.2-kf2v-flash', images: [{ url: 'oss://store/a.png' }] }), {
    ...call,
    baseUrl: 'https://vendor.test/compatible-mode/v1',
  });
  assert.deepEqual(
    sent.map(({ url: address }) => address),
    [
      'https://vendor.test/api/v1/services/aigc/video-generation/video-synthesis',
      'https://vendor.test/api/v1/services/aigc/image2video/video-synthesis',
    ],
  );
  assert.deepEqual(
    sent.map(({ headers }) => [headers?.['x-dashscope-async'], headers?.['x-dashscope-ossresourceresolve']]),
    [
      ['enable', undefined],
      ['enable', 'enable'],
    ],
  );
  assert.equal(pathOf('wan2.2-s2v'), pathOf('wan2.2-kf2v-flash'));
});

for (const [name, state] of [
  ['pending', 'QUEUED'],
  ['running', 'IN_PROGRESS'],
  ['succeeded', 'SUCCESS'],
  ['succeeded-floats', 'SUCCESS'],
  ['succeeded-empty', 'FAILURE'],
  ['failed', 'FAILURE'],
  ['canceled', 'FAILURE'],
  ['unknown', 'FAILURE'],
  ['strange', 'UNKNOWN'],
] as const) {
  test(`the response ${name} is ${state}`, async () => assert.equal((await query(replies[name])).state, state));
}

test('a failed task keeps the vendor’s message, an unknown one is reported as expired', async () => {
  const failed = (await query(replies.failed)).error;
  assert.deepEqual(
    [failed?.reason, failed?.code, failed?.message],
    ['policy', 'DataInspectionFailed', 'Output data may contain inappropriate content.'],
  );
  const lost = (await query(replies.unknown)).error;
  assert.deepEqual([lost?.reason, lost?.message], ['missing', 'The task is unknown or has expired.']);
});

test('an error of the poll, or a response about another task, does not change the task', async () => {
  for (const status of [200, 401, 429, 500]) await assert.rejects(query(replies['invalid-key'], status), PollFailed);
  await assert.rejects(query(undefined, 502), PollFailed);
  await assert.rejects(query({ output: { task_id: 'other', task_status: 'SUCCEEDED' } }), PollFailed);
});

const ELSEWHERE = new Set(['rate', 'capacity', 'auth', 'billing', 'model']);
for (const [code, meaning] of Object.entries(ERROR_CLASSES)) {
  const { reason } = meaning;
  test(`code ${code} is ${reason}, whatever the HTTP status`, () => {
    const error = toError({ ...json({ code, message: 'words', request_id: 'r' }), status: 400 }, 0);
    assert.deepEqual(error, { ...meaning, retryable: ELSEWHERE.has(reason), httpStatus: 400, code, message: 'words' });
  });
}
for (const [code, reason] of [
  ['InvalidParameter.DataInspection', 'user'],
  ['Throttling.RateQuota', 'rate'],
  ['InternalError.Algo', 'capacity'],
] as const) {
  test(`code ${code} is ${reason}, by its first part`, () => {
    assert.equal(toError(json({ code, message: 'words' }), 0).reason, reason);
  });
}

test('a used-up trial is not a rate limit', () => {
  const reason = (message: string) => toError(json({ code: 'Throttling.AllocationQuota', message }), 0).reason;
  assert.equal(reason('Free allocated quota exceeded.'), 'billing');
  assert.equal(reason('Allocated quota exceeded, please increase your quota limit.'), 'rate');
});

test('a refused submit is a value; one that cannot be read is ambiguous', async () => {
  const submit = (value: unknown, status = 200) =>
    wan.submit(videoRequest({ model: WORDS }), fixedResponseContext({ json: value, status }));
  for (const status of [200, 401]) {
    const refused = await submit(replies['invalid-key'], status);
    assert.equal(refused.kind === 'refused' && refused.error.code, 'InvalidApiKey');
  }
  const accepted = await submit(replies.accepted);
  assert.deepEqual(accepted.kind === 'accepted' && accepted.handle, HANDLE);
  for (const value of [{}, [], { output: {} }, { output: { task_id: {} } }, null]) {
    await assert.rejects(submit(value), OutboundError);
  }
});

test('5,000 mutated responses: no crash, no wrong final state', async () => {
  const submits = ['accepted', 'invalid-key', 'throttled'];
  await tryMutatedReplies(wan, {
    handle: HANDLE,
    replies: Object.keys(replies).filter((name) => name !== 'accepted'),
    submits,
    model: WORDS,
    mayEnd(state, reply, status) {
      const { output } = reply as { output?: { task_status?: string } };
      const word = output?.task_status;
      const isOver = saysItEnded(state, word) || (state === 'FAILURE' && word === 'UNKNOWN');
      return status >= 200 && status < 300 && isOver;
    },
  });
});
