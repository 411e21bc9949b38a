import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdapterContext } from '../../src/server/upstreams/upstream.ts';
import { PollFailed } from '../../src/server/upstreams/upstream.ts';
import type { Json, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { jimeng } from '../../src/server/vendors/jimeng/adapter.ts';
import { toRawResponse } from '../../src/server/vendors/json-calls.ts';
import { kling } from '../../src/server/vendors/kling/adapter.ts';
import { sora } from '../../src/server/vendors/sora/adapter.ts';
import { fixedResponseContext, videoRequest } from './adapter-context.ts';

/**
 * Responses of gateways (New API and its forks) in forms of their own instead of the vendor's: by what a channel gets at
 * `/kling/v1/videos/…`, `/jimeng/?Action=…` and `/v1/videos`.
 */

type Fields = Readonly<Record<string, unknown>>;

const ID = 'task_VcUSO9EJzO4s3lt95OwfaIrHrorGHRBn';
const FILM = 'https://cdn.example.test/film.mp4';
const GATEWAY = 'https://gateway.test/team';

/** A vendor, its model, the path of the channel's base URL, the handle, and its own response about a finished job. */
const VENDORS: readonly (readonly [VendorAdapter, model: string, path: string, handle: Json, own: Fields])[] = [
  [
    kling,
    'kling-v1-6',
    '/kling',
    { family: 'text2video', id: ID },
    {
      code: 0,
      message: 'SUCCEED',
      data: { task_id: '77', task_status: 'succeed', task_result: { videos: [{ url: FILM }] } },
    },
  ],
  [
    jimeng,
    'jimeng_t2v_v30',
    '/jimeng',
    { reqKey: 'jimeng_t2v_v30', id: ID },
    { code: 10_000, message: 'Success', data: { status: 'done', video_url: FILM } },
  ],
  [sora, 'sora-2', '', { id: ID }, { id: 'video_77', object: 'video', status: 'completed', url: FILM }],
];

const ACCOUNT = /"(?:user_id|group|channel_id|quota)"/;

const video = (members: Fields): Fields => ({
  id: ID,
  task_id: ID,
  object: 'video',
  model: '',
  created_at: 1,
  ...members,
});
/** A row of the gateway's tasks, whose number is in `id`. */
const unified = (members: Fields): Fields => ({
  code: 'success',
  message: '',
  data: {
    ...{ id: 4711, task_id: ID, platform: '50', user_id: 1, group: 'default', channel_id: 3, quota: 5 },
    ...{ action: 'textGenerate', fail_reason: '', submit_time: 1, start_time: 1, finish_time: 0 },
    ...{ properties: { upstream_model_name: 'm' }, data: null },
    ...members,
  },
});

const ACCEPTED: Readonly<Record<string, Fields>> = {
  'an id': { task_id: ID },
  'an id in an envelope': { code: 'success', message: '', data: ID },
  "OpenAI's video": video({ status: 'queued', progress: 0 }),
  'a unified task': unified({ status: 'NOT_START', progress: '0%' }),
};

const ERRORS: readonly (readonly [status: number, json: Fields, reason: string])[] = [
  [403, { code: 'quota_not_enough', message: 'Not enough credits: 5 needed, 1 left.', data: null }, 'billing'],
  [403, { error: { message: '预扣费失败', type: 'new_api_error', code: 'insufficient_user_quota' } }, 'billing'],
  [503, { error: { message: 'No available channel', type: 'new_api_error', code: 'model_not_found' } }, 'model'],
  [404, { code: 'model_not_found', message: 'There is no model x here.', data: null }, 'model'],
  [429, { code: 'rate_limit_exceeded', message: 'Too many requests.', data: null }, 'rate'],
  [401, { error: { message: '无效的令牌', type: 'new_api_error', code: '' } }, 'auth'],
  [401, { code: 'invalid_api_key', message: 'The API key is wrong.', data: null }, 'auth'],
];

for (const [vendor, model, path, handle, own] of VENDORS) {
  const context = (json: unknown, status = 200): AdapterContext => ({
    ...fixedResponseContext({ json, status }),
    baseUrl: GATEWAY + path,
    credentials: { api_key: 'sk-gateway' },
  });
  const query = (json: unknown) => vendor.query(handle, context(json));
  const submit = (json: unknown, status?: number) => vendor.submit(videoRequest({ model }), context(json, status));
  const fileFor = async (json: unknown) => vendor.content(handle, (await query(json)).raw, undefined, context(null));

  test(`${vendor.name}: a gateway accepts a submit with`, async (t) => {
    for (const [name, json] of Object.entries(ACCEPTED))
      await t.test(name, async () => {
        const outcome = await submit(json);
        assert.ok(outcome.kind === 'accepted');
        assert.deepEqual([outcome.upstreamId, outcome.handle], [ID, handle]);
        assert.doesNotMatch(JSON.stringify(outcome.raw), ACCOUNT);
      });
  });

  test(`${vendor.name}: other ids and states next to the vendor's own do not count`, async () => {
    const json =
      vendor === sora
        ? { id: ID, task_id: 'internal', object: 'video', status: 'queued' }
        : { ...own, id: 'request', status: 'success', data: { task_id: ID } };
    const outcome = await submit(json);
    assert.equal(outcome.kind === 'accepted' && outcome.upstreamId, ID);
    if (vendor === sora) return;
    const done = { ...own, id: 'request', status: 'success', data: { ...(own.data as Fields), task_id: ID } };
    assert.equal((await query(done)).state, 'SUCCESS');
    assert.deepEqual(await fileFor(done), { kind: 'fetch', url: FILM, headers: {}, trusted: false });
  });

  test(`${vendor.name}: an error of a gateway is the channel's fault`, async () => {
    for (const [status, json, reason] of ERRORS) {
      const outcome = await submit(json, status);
      assert.ok(outcome.kind === 'refused');
      assert.deepEqual([outcome.error.reason, outcome.error.retryable], [reason, true], JSON.stringify(json));
    }
  });

  test(`${vendor.name}: a gateway's task is followed`, async () => {
    for (const data of [own, unified({ status: 'IN_PROGRESS', data: own })]) {
      const working = await query(unified({ status: 'IN_PROGRESS', progress: '30%', data }));
      assert.deepEqual([working.state, working.progress], ['IN_PROGRESS', 30]);
      // Callers are shown the stored response, but not the operator's account.
      assert.doesNotMatch(JSON.stringify(working.raw), ACCOUNT);
    }
    assert.equal((await query(unified({ status: 'QUEUED', progress: '20%' }))).state, 'QUEUED');
    assert.equal((await query(video({ status: 'unknown', progress: 0 }))).state, 'UNKNOWN');
    await assert.rejects(query(unified({ status: 'SUCCESS', task_id: 'task_other', fail_reason: FILM })), PollFailed);
    await assert.rejects(query({ code: 'success', data: null }), PollFailed);
  });

  test(`${vendor.name}: a gateway's reason of a failure, never the copy of the vendor's response`, async () => {
    const reason = 'Failure to pass the risk control system';
    for (const json of [
      unified({ status: 'FAILURE', progress: '100%', fail_reason: reason, data: own }),
      video({ status: 'failed', error: { message: reason, code: 'x' } }),
    ]) {
      const { state, error } = await query(json);
      assert.deepEqual([state, error?.reason, error?.message], ['FAILURE', 'policy', reason]);
    }
  });

  test(`${vendor.name}: a public file is fetched without the key`, async () => {
    for (const json of [
      unified({ status: 'SUCCESS', fail_reason: FILM }),
      unified({ status: 'SUCCESS', result_url: FILM }),
      unified({ status: 'SUCCESS', data: own }),
      video({ status: 'completed', metadata: { url: FILM } }),
    ])
      assert.deepEqual(
        await fileFor(json),
        { kind: 'fetch', url: FILM, headers: {}, trusted: false },
        JSON.stringify(json),
      );
  });

  test(`${vendor.name}: a file that needs the key is fetched from the channel's own host`, async () => {
    for (const json of [
      unified({ status: 'SUCCESS', fail_reason: `https://evil.test/v1/videos/${ID}/content`, data: own }),
      video({ status: 'completed' }),
    ]) {
      assert.deepEqual((await query(json)).artifact, { kind: 'protected' });
      const { addressIn: _, ...file } = (await fileFor(json)) as { readonly addressIn?: unknown };
      const url = `${GATEWAY}/v1/videos/${ID}/content`;
      assert.deepEqual(file, { kind: 'fetch', url, headers: { authorization: 'Bearer sk-gateway' }, trusted: true });
    }
  });
}

test('a file that needs the key is fetched with a pair of keys where the channel has one', async () => {
  const credentials = { access_key: 'sk-access', secret_key: 'secret' };
  for (const [vendor, expected] of [
    [kling, /^Bearer eyJ[\w-]+\.[\w-]+\.[\w-]+$/],
    [jimeng, /^HMAC-SHA256 Credential=sk-access\//],
  ] as const) {
    const handle = { family: 'text2video', reqKey: 'jimeng_t2v_v30', id: ID };
    const json = video({ status: 'completed' });
    const context = { ...fixedResponseContext({ json }), baseUrl: `${GATEWAY}/${vendor.name}`, credentials };
    const source = await vendor.content(handle, (await vendor.query(handle, context)).raw, undefined, context);
    assert.ok(source.kind === 'fetch');
    assert.match(new Headers(source.headers).get('authorization') ?? '', expected);
  }
});

test("the operator's account is hidden in the responses of all vendors", () => {
  const own = { status: 'done', url: FILM };
  const json = unified({ status: 'SUCCESS', data: unified({ status: 'SUCCESS', data: own }) });
  const raw = JSON.stringify(toRawResponse({ status: 200, headers: {}, text: '', json }));
  assert.doesNotMatch(raw, ACCOUNT);
  assert.match(raw, /"data":\{"status":"done"/);
  assert.equal(toRawResponse({ status: 200, headers: {}, text: '', json: own }), own);
});

test('the units of the vendor are read through any number of gateways', () => {
  const own = { code: 0, data: { task_id: '77', task_status: 'succeed', final_unit_deduction: '2.5' } };
  const raw = unified({ status: 'SUCCESS', data: unified({ status: 'SUCCESS', data: own }) });
  assert.deepEqual(kling.billedFacts?.(raw as never), { units: 2.5 });
});
