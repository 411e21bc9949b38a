import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { loadMedia } from '../../src/sandbox/media.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { startVideoService, VENDOR_MODELS, type VideoService } from '../flows/video-fixture.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';
import { retryWhileUnavailable } from './submit-steps.ts';

/**
 * Malformed bodies for both of our formats and both official ones: never an internal error, and a refusal reserves
 * nothing.
 */
const RUNS = Number(process.env.INVALID_SUBMIT_RUNS ?? '20');
const SEED = Number(process.env.INVALID_SUBMIT_SEED ?? '20261121');
const image = loadMedia('image.png').bytes.toString('base64');

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const KLING = {
  model_name: 'kling-v1-6',
  prompt: 'official',
  negative_prompt: 'blur',
  cfg_scale: 0.5,
  mode: 'std',
  duration: '5',
  aspect_ratio: '16:9',
  camera_control: { type: 'simple', config: { horizontal: 3, vertical: 0, pan: 0, tilt: 0, roll: 0, zoom: 0 } },
};
const TARGETS: readonly (readonly [name: string, path: string, body: Json])[] = [
  ...VENDOR_ADAPTERS.flatMap(({ name: vendor, example: body }) =>
    ['/v1/video/generations', '/v1/videos'].map((path) => [`${vendor} ${path}`, path, body as Json] as const),
  ),
  ['kling text2video', '/kling/v1/videos/text2video', KLING],
  ['kling image2video', '/kling/v1/videos/image2video', { ...KLING, image, camera_control: null }],
  [
    'jimeng',
    '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
    { req_key: 'jimeng_v30', prompt: 'official', seed: -1, frames: 121, aspect_ratio: '16:9' },
  ],
];

/** Each of these exists at only some of Kling's endpoints; the others respond that there is no such model. */
const KLING_MODELS = ['kling-v1', 'kling-v1-5', 'kling-v2-1', 'kling-v3-omni', 'kling-v3-turbo'];
/** Our message when a vendor cannot be reached, which on a busy machine can also happen with a simulator. */
const TIME_OUT = /in time|within \d+ ms|timeout/i;

const deep = (levels: number): Json => {
  let value: Json = 'x';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};
const TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\u202e\u2066',
  '\u2028',
  '𝕏'.repeat(400),
  '١٢٣',
  '5 ',
  '1e3',
  '-1',
  '0x10',
  'NaN',
  'true',
  '../../etc/passwd',
  "'; drop table tasks; --",
  '<script>alert(1)</script>',
  'https://',
  'data:image/png;base64,AAAA',
  'data:text/html;base64,PGI+',
  'x'.repeat(40_000),
];
const NUMBERS = [0, -0, -1, 0.1, 1e308, -1e308, 2 ** 53, 2 ** 53 + 2, 1e21, 3_601, 99_999_999];
const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'metadata',
  'images',
  'image',
  'model',
  'n',
  '',
  'a.b',
];

/** All code points except surrogates. `fc.string` would first build a list of all of them, which takes seconds. */
const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }));
const junk: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Json>(...TEXTS) },
  { weight: 3, arbitrary: fc.constantFrom<Json>(...NUMBERS) },
  { weight: 2, arbitrary: fc.constantFrom<Json>(null, true, false, [], {}, [[]], [null], { a: {} }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>(deep(60), deep(70), deep(3_000)) },
  { weight: 1, arbitrary: fc.constant<Json>(Array.from({ length: 30 }, () => image)) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json> },
  { weight: 2, arbitrary: fc.array(codePoint, { maxLength: 60 }).map((points) => String.fromCodePoint(...points)) },
);

const pathsOf = (value: Json, path: readonly string[] = []): (readonly string[])[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))]
    : [path];

/** A copy with another value at the path; `undefined` removes the key. */
function put(value: Json, [key, ...rest]: readonly string[], junk: Json | undefined): Json {
  if (key === undefined) return junk ?? null;
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const kept = entries.filter(([name]) => name !== key);
  const inner = entries.find(([name]) => name === key)?.[1] ?? null;
  const changed = rest.length === 0 ? junk : put(inner, rest, junk);
  // `fromEntries` defines `__proto__` as an own key, as JSON.parse does.
  return Object.fromEntries(changed === undefined ? kept : [...kept, [key, changed]]);
}

const mutated = (body: Json): fc.Arbitrary<Json> => {
  const paths = pathsOf(body);
  const change = fc.record({
    path: fc.constantFrom(...paths.slice(1)),
    more: fc.option(fc.constantFrom(...KEYS), { nil: undefined }),
    value: fc.option(junk, { nil: undefined, freq: 8 }),
  });
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) =>
      changes.reduce(
        (all, { path, more, value }) => put(all, more === undefined ? path : [...path.slice(0, -1), more], value),
        body,
      ),
    );
};

describe('invalid submits', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), { sandbox: { keepRequests: 0 } });
      // Enough for any number of bodies that turn out to be valid: without quota all others would be refused for that.
      await service.operator.grantQuota(1_000_000_000_000_000);
      // Kling uses these models when a body in its own format names none.
      await service.addChannel('kling', KLING_MODELS);
      const served = new Set(VENDOR_MODELS.map(({ model }) => model));
      for (const { name, example } of VENDOR_ADAPTERS)
        if (!served.has(String(example.model))) await service.addChannel(name, [String(example.model)]);
    });
    after(() => service.stop());

    async function send(path: string, payload: string, type = 'application/json') {
      const response = await fetch(`${service.baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.caller.key}`, 'content-type': type },
        body: payload,
      });
      return { status: response.status, text: await response.text() };
    }
    const count = async () => {
      const { kysely } = service.app.database;
      const row = await kysely
        .selectFrom('tasks')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('status', '!=', 'FAILURE')
        .executeTakeFirstOrThrow();
      return Number(row.count);
    };

    /** Sends all payloads; returns how many were accepted. */
    async function takes(path: string, payloads: readonly string[]): Promise<number> {
      const queue = [...payloads];
      let taken = 0;
      const worker = async () => {
        for (let payload = queue.pop(); payload !== undefined; payload = queue.pop()) {
          // If the machine is too busy for a connection or the database, the body is not at fault and is sent again.
          const { status, text } = await retryWhileUnavailable(() => send(path, payload));
          const shown = `${payload.slice(0, 400)} → ${status} ${text.slice(0, 300)}`;
          assert.ok(status === 200 || (status >= 400 && status < 500), shown);
          const body = JSON.parse(text) as { code?: unknown; message?: unknown; data?: unknown };
          if (status === 200) taken += 1;
          else
            assert.ok(typeof body.code === 'string' && typeof body.message === 'string' && body.data === null, shown);
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      return taken;
    }

    for (const [name, path, body] of TARGETS) {
      it(name, async () => {
        const before = await count();
        const payloads = fc.sample(mutated(body), { numRuns: RUNS, seed: SEED }).map((value) => JSON.stringify(value));
        const taken = await takes(path, payloads);
        // Every refused submit has released its reservation.
        assert.equal((await count()) - before, taken);
      });
    }

    it('Kling models at endpoints that do not have them', async () => {
      const before = await count();
      const bodies = KLING_MODELS.flatMap((model) => [
        { model, model_name: model, prompt: 'x' },
        { model, model_name: model, prompt: 'x', image },
      ]);
      let taken = 0;
      for (const path of [
        '/v1/videos',
        ...['text2video', 'image2video', 'omni-video'].map((name) => `/kling/v1/videos/${name}`),
      ])
        taken += await takes(
          path,
          bodies.map((body) => JSON.stringify(body)),
        );
      assert.equal((await count()) - before, taken);
      assert.ok(taken > 0 && taken < 4 * bodies.length, `${taken} were taken`);
    });

    it('T64: bodies that are not JSON objects, on every path', async () => {
      const paths = [...new Set(TARGETS.map(([, path]) => path)), '/v1/videos/none/remix'];
      const texts = ['', '{', '[]', 'null', '5', '"x"', '{"a":1}}', '\ufeff{}', '{"model":"sora-2","prompt":1e999}'];
      const bombs = [
        `${'['.repeat(100_000)}`,
        `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
        '{"__proto__":{"x":1}}',
      ];
      const before = await count();
      for (const path of paths) {
        assert.equal(await takes(path, [...texts, ...bombs]), 0, path);
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/jsoff',
          'multipart/form-data',
          '',
        ]) {
          const { status, text } = await send(path, '{"model":"sora-2","prompt":"x"}', type);
          assert.ok(status === 400 || status === 415, `${path} ${type}: ${status} ${text}`);
        }
      }
      assert.equal(await count(), before);
    });

    it('T65: forms that are truncated or incomplete', async () => {
      const part = (headers: string, value = 'x') => `--b\r\n${headers}\r\n\r\n${value}\r\n`;
      const field = (name: string, value = 'x') => part(`content-disposition: form-data; name="${name}"`, value);
      const good = `${field('model', 'sora-2')}${field('prompt', 'a form')}`;
      const file = part('content-disposition: form-data; name="input_reference"; filename="a.png"', 'no image');
      const before = await count();
      let taken = 0;
      const forms = [
        '',
        '--b--',
        '--b',
        good,
        `${good}--b`,
        `${good}--c--`,
        good.replaceAll('\r\n', '\n'),
        `${good}${part('content-disposition: form-data')}--b--`,
        `${good}${part('content-disposition: attachment; name=""')}--b--`,
        `${good}${part(`x: ${'y'.repeat(90_000)}`)}--b--`,
        `${good}${field('prompt')}--b--`,
        `${good}${field('__proto__')}--b--`,
        `${good}${field('a[b][c][d]')}--b--`,
        `${good}${field('metadata', '{')}--b--`,
        `${good}${file}--b--`,
        `${good}${Array.from({ length: 200 }, (_, index) => field(`f${index}`)).join('')}--b--`,
        `${good}${Array.from({ length: 9 }, () => file).join('')}--b--`,
        `${good}${part('content-type: multipart/mixed; boundary=c', '--c\r\n\r\nx\r\n--c--')}--b--`,
        `${good}${field('n'.repeat(5_000))}--b--`,
      ];
      for (const boundary of ['b', 'b'.repeat(2_000), '"', '']) {
        for (const form of forms) {
          const type = `multipart/form-data; boundary=${boundary}`;
          const { status, text } = await send('/v1/videos', form, type);
          const shown = `${boundary.slice(0, 9)} ${form.slice(-200)} → ${status} ${text}`;
          assert.ok(status === 200 || (status >= 400 && status < 500), shown);
          // Parts that are not named form data are ignored, and the remaining parts may form a valid request.
          if (status === 200) taken += 1;
        }
      }
      assert.equal((await count()) - before, taken);
      assert.ok(taken <= 4, `${taken} were taken`);
    });

    it('none of these count against a channel', async () => {
      const { kysely } = service.app.database;
      // Channel errors are written a second after the first of them.
      await pause(1_500);
      const errors = await kysely.selectFrom('channel_errors').select(['model', 'reason', 'message']).execute();
      const isTimeOut = ({ reason, message }: (typeof errors)[number]) =>
        reason === 'unreachable' && TIME_OUT.test(message);
      assert.deepEqual(
        errors.filter((error) => !isTimeOut(error)),
        [],
      );
    });

    it('the ledger is consistent', () => assertLedgerConsistent(service.app.database));
  }, 'postgres');
});
