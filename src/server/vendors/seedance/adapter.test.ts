import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import { unusedPaths } from '../../video/dropped-fields.ts';
import type { MediaInput, VideoRequest } from '../adapter.ts';
import { ERROR_CLASSES, seedance, toBody, toError } from './adapter.ts';

const replies = recordedReplies('seedance');
const HANDLE = { id: 'cgt-20260103110405-x7k2p' };
const PRO = 'doubao-seedance-1-0-pro-250528';
const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
const body = (request: Partial<VideoRequest>) => toBody(videoRequest({ model: PRO, ...request }));
const query = (json: unknown) => seedance.query(HANDLE, fixedResponseContext({ json }));

test('defaults: prompt, five seconds, the resolution of the model, and nothing else', () => {
  const { prompt } = videoRequest({ model: PRO });
  assert.deepEqual(body({}), {
    model: PRO,
    content: [{ type: 'text', text: prompt }],
    resolution: '1080p',
    duration: 5,
  });
  assert.equal(body({ model: 'ep-20260101-abcde' }).resolution, undefined);
});

test('members that an element of the content array has no use for are named to the caller', () => {
  const named = (element: object) => {
    const request = videoRequest({ model: PRO, metadata: { content: [{ type: 'text', text: 'a kite' }, element] } });
    return unusedPaths(request, seedance);
  };
  const address = 'https://media.example/a';
  assert.deepEqual(named({ type: 'image_url', image_url: address, role: 'first_frame' }), []);
  assert.deepEqual(named({ type: 'image_url', image_url: address, text: 'b' }), ['metadata.content.1.text']);
  assert.deepEqual(named({ type: 'text', text: 'b', role: 'c' }), ['metadata.content.1.role']);
  assert.deepEqual(named({ type: 'video_url', video_url: address, role: 'reference_video' }), []);
  assert.deepEqual(named({ type: 'video', video: address, video_url: address, role: 'first_clip' }), [
    'metadata.content.1.video_url',
    'metadata.content.1.role',
  ]);
  assert.deepEqual(named({ type: 'audio_url', audio_url: address, video: address }), ['metadata.content.1.video']);
  for (const junk of [null, 7, 'text', { type: 7 }, { type: 'toString', text: 'b' }])
    assert.deepEqual(named(junk as object), []);
});

test('the final video of a draft takes nothing but the draft', () => {
  const draft = { seconds: 7, hasVideo: false };
  const element = { type: 'draft_task', draft_task: { id: 'cgt-1' } };
  const final = (content: readonly object[]) =>
    body({ model: 'doubao-seedance-2-5-260628', draft, sourceHandle: HANDLE, metadata: { content } });
  assert.deepEqual(final([element]).content, [{ type: 'draft_task', draft_task: HANDLE }]);
  assert.throws(
    () => final([element, { type: 'text', text: 'a kite' }]),
    (error) => error instanceof UnsupportedRequestError && error.param === 'metadata.content',
  );
});

test('only the keys of the metadata table are sent, inside the content array too', () => {
  const rest = {
    resolution: '720p',
    ratio: '16:9',
    frames: 57,
    seed: 11,
    generate_audio: true,
    camera_fixed: false,
    watermark: true,
  };
  const content = [
    { type: 'image_url', image_url: { url: 'https://images.example/a.png', host: 'canary.example' }, key: 'x' },
  ];
  const sent = body({
    metadata: { ...rest, content, callback_url: 'https://canary.example', base_url: 'x', model: 'y' },
  });
  assert.deepEqual(sent, {
    model: PRO,
    content: [
      { type: 'text', text: 'A paper boat drifting down a rainy street' },
      { type: 'image_url', image_url: { url: 'https://images.example/a.png' }, role: 'first_frame' },
    ],
    ...rest,
  });
});

test('numbers and flags may be text', () => {
  const { seed, watermark } = body({ metadata: { seed: '-1', watermark: 'true' } });
  assert.deepEqual([seed, watermark], [-1, true]);
});

const rolesOf = (request: Partial<VideoRequest>) =>
  (body(request).content as { type: string; role?: string }[]).flatMap(({ type, role }) =>
    type === 'text' ? [] : [role ?? 'none'],
  );
const element = (name: string, role?: string) => ({
  type: 'image_url',
  image_url: { url: `https://images.example/${name}.png` },
  ...(role === undefined ? {} : { role }),
});

test('roles follow from the number of images, or are kept as written', () => {
  const TWO = 'doubao-seedance-2-0-260128';
  assert.deepEqual(rolesOf({ images: [url('a')] }), ['first_frame']);
  assert.deepEqual(rolesOf({ images: [url('a'), url('b')] }), ['first_frame', 'last_frame']);
  assert.deepEqual(rolesOf({ model: TWO, images: [url('a'), url('b'), url('c')] }), Array(3).fill('reference_image'));
  assert.deepEqual(rolesOf({ metadata: { content: [element('a'), element('b')] } }), ['first_frame', 'last_frame']);
  assert.deepEqual(rolesOf({ images: [url('a')], metadata: { content: [element('z', 'last_frame')] } }), [
    'first_frame',
    'last_frame',
  ]);
  assert.deepEqual(
    rolesOf({ model: TWO, images: [url('a')], metadata: { content: [element('z', 'reference_image')] } }),
    ['reference_image', 'reference_image'],
  );
});

test('a video element is sent under the vendor’s name for it', () => {
  for (const given of [
    { video: { url: 'https://clips.example/a.mp4' } },
    { video_url: 'https://clips.example/a.mp4' },
  ]) {
    const content = [{ type: 'video', ...given }];
    assert.deepEqual((body({ prompt: '', metadata: { content } }).content as object[])[0], {
      type: 'video_url',
      video_url: { url: 'https://clips.example/a.mp4' },
      role: 'reference_video',
    });
  }
});

test('commands that do not affect the price stay in the prompt', () => {
  for (const prompt of [
    'a kite --seed 7, a well--resolution of sorts',
    'a long shot — duration 12 seconds',
    'Scene 1\n---\nDuration: 10 s',
    'three -duration 12',
  ])
    assert.deepEqual(body({ prompt }).content, [{ type: 'text', text: prompt }]);
});

test('commands that affect the price are refused in any spelling', () => {
  for (const command of [
    ...['a--dur 12', 'a --dur12', 'a -- dur 12', 'a——dur 12', 'a －－ｄｕｒ　１２', 'a –– duration=12', 'a--rs:1080p'],
    ...['a -\u200b-dur 12', 'a−−frames 289', 'a --DURATION -1', 'a ⸺dur 12', '风筝--resolution 1080p', '--fps'],
  ])
    assert.throws(() => body({ prompt: command }), UnsupportedRequestError, command);
});

test('a prompt given twice is sent once', () => {
  const content = [{ type: 'text', text: 'a kite' }];
  assert.deepEqual(body({ prompt: 'a kite', metadata: { content } }).content, [{ type: 'text', text: 'a kite' }]);
});

test('Base64 is sent in a data: URL', () => {
  const images: MediaInput[] = [{ bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' }];
  assert.deepEqual((body({ images }).content as object[])[1], {
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
    role: 'first_frame',
  });
});

for (const [size, resolution, ratio] of [
  ['720P', '720p', undefined],
  ['1280x720', '720p', '16:9'],
  ['1080x1920', '1080p', '9:16'],
  ['640*480', '480p', '4:3'],
] as const) {
  test(`size ${size} is ${resolution} ${ratio ?? ''}`, () => {
    assert.deepEqual([body({ size }).resolution, body({ size }).ratio], [resolution, ratio]);
  });
}

const REFUSED: readonly (readonly [Partial<VideoRequest>, string])[] = [
  [{ mode: 'pro' }, 'mode'],
  [{ prompt: 'a kite --dur 12 --resolution 1080p' }, 'prompt'],
  [{ metadata: { content: [{ type: 'text', text: '--frames 289' }] } }, 'prompt'],
  [{ seconds: 1 }, 'duration'],
  [{ seconds: 13 }, 'duration'],
  [{ seconds: -1 }, 'duration'],
  [{ size: '4k' }, 'size'],
  [{ size: '100x900' }, 'size'],
  [{ images: [url('a'), url('b'), url('c')] }, 'images'],
  [{ model: 'doubao-seedance-1-0-pro-fast-251015', images: [url('a'), url('b')] }, 'images'],
  [{ model: 'doubao-seedance-1-0-lite-t2v-250428', images: [url('a')] }, 'image'],
  [{ model: 'doubao-seedance-1-0-lite-i2v-250428' }, 'image'],
  [{ metadata: { seed: 1.5 } }, 'metadata.seed'],
  [{ metadata: { content: [{ type: 'draft' }] } }, 'metadata.content.0.type'],
  [{ metadata: { content: [element('a', 'middle_frame')] } }, 'metadata.content.0.role'],
  [{ metadata: { content: [{ type: 'image_url' }] } }, 'metadata.content.0'],
];
for (const [request, param] of REFUSED) {
  test(`${param} of ${JSON.stringify(request).slice(0, 90)} is refused`, () => {
    assert.throws(
      () => body(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
  });
}

test('price: seconds, frames, or the longest where the model chooses', () => {
  const meter = (request: Partial<VideoRequest>) => seedance.billingFactors(videoRequest({ model: PRO, ...request }));
  assert.deepEqual(meter({ seconds: 10 }), { seconds: 10, factors: { resolution: '1080p' } });
  assert.equal(meter({ metadata: { frames: 57 } }).seconds, 3);
  const auto = meter({ model: 'doubao-seedance-1-5-pro-251215', seconds: -1, metadata: { generate_audio: false } });
  assert.deepEqual(auto, { seconds: 12, factors: { resolution: '720p', audio: 'false' } });
});

const STATES = {
  queued: 'QUEUED',
  running: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  cancelled: 'FAILURE',
  expired: 'FAILURE',
};
for (const [word, state] of Object.entries(STATES)) {
  test(`status ${word} is ${state}`, async () => assert.equal((await query(replies[word])).state, state));
}

test('success returns the URL, without one the task fails; an unknown word is UNKNOWN', async () => {
  const { artifact } = await query(replies.succeeded);
  assert.deepEqual(artifact, {
    kind: 'url',
    url: 'https://tos.example/clip.mp4?X-Tos-Expires=86400&X-Tos-Signature=abc',
  });
  assert.equal((await query(replies['succeeded-empty'])).state, 'FAILURE');
  assert.equal((await query(replies.strange)).state, 'UNKNOWN');
});

test('a failed task keeps the vendor’s message', async () => {
  const { error } = await query(replies.failed);
  assert.deepEqual(
    [error?.reason, error?.code, error?.message],
    [
      'policy',
      'OutputVideoSensitiveContentDetected',
      'The output video may contain sensitive information. Request id: 021767',
    ],
  );
});

test('an unknown task fails; an error of the poll does not change the task', async () => {
  const ask = (status: number, json: unknown) => seedance.query(HANDLE, fixedResponseContext({ status, json }));
  const lost = await ask(404, replies['not-found']);
  assert.deepEqual([lost.state, lost.error?.reason], ['FAILURE', 'missing']);
  for (const status of [401, 403, 429, 500, 502]) await assert.rejects(ask(status, replies['rate-limit']), PollFailed);
  await assert.rejects(ask(404, undefined), PollFailed);
  await assert.rejects(query({ ...(replies.succeeded as object), id: 'cgt-other' }), PollFailed);
});

const ELSEWHERE = new Set(['rate', 'capacity', 'auth', 'billing', 'model']);
for (const [code, meaning] of Object.entries(ERROR_CLASSES)) {
  const { reason } = meaning;
  test(`code ${code} is ${reason}, whatever the HTTP status`, () => {
    for (const written of code.includes('.') ? [code] : [code, `${code}.Something`]) {
      const json = { error: { code: written, message: 'words', param: '', type: 'x' } };
      const error = toError({ status: 400, headers: {}, text: '', json }, 0);
      const retryable = ELSEWHERE.has(reason);
      assert.deepEqual(error, { ...meaning, retryable, httpStatus: 400, code: written, message: 'words' });
    }
  });
}

test('QuotaExceeded has three meanings, distinguished by its message', () => {
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  const read = (message: string) => {
    const json = { error: { code: 'QuotaExceeded', message } };
    const { reason, retryable, retryAfterMs } = toError({ status: 429, headers: {}, text: '', json }, nowMs);
    return [reason, retryable, retryAfterMs];
  };
  assert.deepEqual(read('Your account [1] has exhausted its free trial quota for the [m] model.'), [
    'billing',
    true,
    undefined,
  ]);
  assert.deepEqual(read('The request has exceeded the quota.'), ['rate', true, undefined]);
  const window = 'You have exceeded the weekly usage quota. It will reset at 2026-11-21 20:30:00 +0800 CST.';
  assert.deepEqual(read(window), ['rate', true, 1_800_000]);
});

test('a refused submit is a value; one that cannot be read is ambiguous', async () => {
  const submit = (status: number, json: unknown) =>
    seedance.submit(videoRequest({ model: PRO }), fixedResponseContext({ status, json }));
  const refused = await submit(400, replies['invalid-parameter']);
  assert.equal(refused.kind === 'refused' && refused.error.retryable, false);
  const accepted = await submit(200, replies.accepted);
  assert.deepEqual(accepted.kind === 'accepted' && accepted.handle, HANDLE);
  for (const json of [{}, [], { id: '' }, { id: {} }, null]) await assert.rejects(submit(200, json), OutboundError);
});

test('5,000 mutated responses: no crash, no wrong final state', async () => {
  await tryMutatedReplies(seedance, {
    handle: HANDLE,
    replies: Object.keys(replies).filter((name) => name !== 'accepted'),
    submits: ['accepted', 'invalid-parameter', 'rate-limit'],
    model: PRO,
    mayEnd(state, reply, status) {
      const told = reply as { status?: string; error?: unknown };
      const isMissing = /"(code|type)":"NotFound[."]/.test(JSON.stringify(told.error ?? ''));
      const isLost = state === 'FAILURE' && status === 404 && isMissing;
      return isLost || (status >= 200 && status < 300 && saysItEnded(state, told.status));
    },
  });
});
