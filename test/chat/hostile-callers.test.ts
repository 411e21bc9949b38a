import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { arbitraryMutatedJson } from '../arbitrary-mutated-json.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type ChatService, chatBody, startChat } from './chat-fixture.ts';

const MB = 1024 * 1024;
const PATHS = [
  '/v1/chat/completions',
  '/v2/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/images/generations',
];

forOneDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl());
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(() => service.stop());

  interface Told {
    readonly status: number;
    readonly error: { readonly code: string; readonly message: string; readonly param: string | null } | undefined;
  }
  const send = async (
    body: string | Buffer | ReadableStream,
    headers: Record<string, string> = {},
    path = PATHS[0],
  ): Promise<Told> => {
    const response = await fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', ...headers },
      body,
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    });
    const text = await response.text();
    if (response.ok) return { status: response.status, error: undefined };
    const { error } = JSON.parse(text) as { error: Told['error'] };
    assert.equal(typeof error?.message, 'string', `${response.status} ${text.slice(0, 200)}`);
    return { status: response.status, error };
  };
  const asked = (more: object): string => JSON.stringify(chatBody('[chunks=1]', more));

  test(`${name}: refuses numbers that are malformed or out of range, by name`, async () => {
    for (const key of ['max_tokens', 'max_completion_tokens', 'n'])
      for (const number of ['-2', '0.1', '1e308', '1e999', '"٥"', '"1e3"', '9007199254740993', 'true', '[]', '{}']) {
        const body = `{"model":"sandbox-chat","messages":[{"role":"user","content":"[chunks=1]"}],"${key}":${number}}`;
        const { status, error } = await send(body);
        assert.deepEqual([status, error?.param], [400, key], `${key} ${number}`);
      }
    assert.equal((await send(asked({ max_tokens: null, n: null, stream: null, stream_options: null }))).status, 200);
    assert.equal((await send(asked({ max_tokens: -0 }))).status, 200);
    assert.equal((await send(asked({ max_tokens: -1 }))).status, 200, 'no limit of the caller');
  });

  test(`${name}: relays ill-formed text unchanged or refuses it`, async () => {
    for (const text of ['\u202eabc', '👩‍👩‍👧', '\u2028', '\ufeff', '𝕏'.repeat(500), '"\\\n\t', '<script>', '\u0001'])
      assert.equal((await send(JSON.stringify(chatBody(`[chunks=1] ${text}`)))).status, 200, JSON.stringify(text));
    for (const escaped of ['\\u0000', '\\ud800', '\\udc00\\ud800']) {
      const body = `{"model":"sandbox-chat","messages":[{"role":"user","content":"${escaped}"}]}`;
      assert.equal((await send(body)).status, 400, escaped);
    }
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      const [before, behind] = asked({}).split('hunks');
      const body = Buffer.concat([Buffer.from(before ?? ''), Buffer.from(bytes), Buffer.from(behind ?? '')]);
      assert.equal((await send(body)).status, 400, String(bytes));
    }
    const [model] = ['x'.repeat(201)];
    assert.equal((await send(asked({ model }))).error?.param, 'model');
  });

  test(`${name}: refuses deep and wide JSON and prototype-polluting keys quickly`, async () => {
    const begun = performance.now();
    const inside = (value: string): string =>
      `{"model":"sandbox-chat","messages":[{"role":"user","content":"[chunks=1]"}],"x":${value}}`;
    for (const depth of [70, 10_000, 1_000_000])
      assert.equal((await send(inside('['.repeat(depth) + ']'.repeat(depth)))).status, 400, String(depth));
    const wide = `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":0`).join(',')}}`;
    assert.equal((await send(inside(wide))).status, 400);
    for (const key of ['__proto__', '\\u005f_proto__', 'constructor":{"prototype'])
      assert.equal((await send(inside(`{"${key}":{}}${key.includes('{') ? '}' : ''}`))).status, 400, key);
    assert.ok(performance.now() - begun < 10_000);
  });

  test(`${name}: the fields that determine the price mean the same to every parser`, async () => {
    const rest = '"messages":[{"role":"user","content":"[chunks=1] \\"model\\": \\"x\\""}]';
    for (const [members, named] of [
      ['"model":"sandbox-image","model":"sandbox-chat"', 'model'],
      ['"model":"sandbox-chat","\\u006dodel":"sandbox-image"', 'model'],
      ['"model":"sandbox-chat","Model":"sandbox-image"', 'Model'],
      ['"model":"sandbox-chat","max_tokens":1,"MAX_TOKENS":9', 'MAX_TOKENS'],
      ['"model":"sandbox-chat","n":1,"n":9', 'n'],
      ['"model":"sandbox-chat","\u017fize":"4096x4096"', '\u017fize'],
      ['"model":"sandbox-chat","messages":[{"role":"user","content":"what is not read"}]', 'messages'],
      ['"model":"sandbox-chat","Messages":[{"role":"user","content":"what is not read"}]', 'Messages'],
      ['"model":"sandbox-chat","models":["sandbox-image"]', 'models'],
      ['"model":"sandbox-chat","fallbacks":["sandbox-image"]', 'fallbacks'],
    ] as const) {
      const { status, error } = await send(`{${members},${rest}}`);
      assert.deepEqual([status, error?.param], [400, named], members);
    }
    for (const members of ['"metadata":{"model":"a","n":1}', '"x":["model","model"]', '"y":"\\u00e9"'])
      assert.equal((await send(`{"model":"sandbox-chat",${members},${rest}}`)).status, 200, members);
  });

  test(`${name}: forwards no private address as a media URL, while text may contain any address`, async () => {
    const said = (content: unknown) => JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content }] });
    for (const url of [
      'http://127.0.0.1:9/',
      ' HTTP://0x7f.1/a.png',
      'ht\ntp://localhost/',
      'http://[::ffff:7f00:1]/',
      'http://169.254.169.254/latest/meta-data/',
      'http://metadata.google.internal/',
      'https://10.0.0.7/',
      'http://redis:6379/',
      'file:///etc/passwd',
    ]) {
      for (const part of [
        { type: 'image_url', image_url: { url } },
        { type: 'image_url', image_url: url },
        { type: 'video_url', video_url: { url } },
        { type: 'audio_url', audio_url: { url } },
        { type: 'image_url', Image_URL: { URL: url } },
        { type: 'image_url', image_url: { Url: url } },
        { type: 'image_url', IMAGE_uRL: url },
      ])
        assert.equal((await send(said([{ type: 'text', text: 'x' }, part]))).status, 400, JSON.stringify(part));
      const hidden = said([{ type: 'image_url', image_url: { url } }]).replaceAll('_url"', '\\u005furl"');
      assert.equal((await send(hidden)).status, 400, hidden);
      const input = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }];
      const responses = JSON.stringify({ model: 'sandbox-chat', input });
      assert.equal((await send(responses, {}, '/v1/responses')).status, 400, responses);
    }
    for (const content of [
      'http://localhost:3000 does not open',
      [{ type: 'text', text: 'http://127.0.0.1/ [chunks=1]' }],
      [{ type: 'image_url', image_url: { url: 'https://images.example/a.png' } }],
    ])
      assert.equal((await send(said(content))).status, 200, JSON.stringify(content));
  });

  test(`${name}: validates or refuses bodies however their content type is spelled`, async () => {
    for (const type of ['application/json; charset=UTF-8', 'Application/JSON', 'application/json;foo=bar'])
      assert.equal((await send(asked({ max_tokens: -2 }), { 'content-type': type })).status, 400, type);
    for (const type of [
      'application/jsoff',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ])
      assert.equal((await send(asked({}), { 'content-type': type })).status, 415, type);
  });

  test(`${name}: accepts a body of the maximum size and refuses one byte more, announced or not`, async () => {
    const frame = asked({ x: '' });
    const padded = (size: number): string => frame.replace('"x":""', () => `"x":"${'a'.repeat(size - frame.length)}"`);
    assert.equal((await send(padded(32 * MB))).status, 200);
    // Only the headers are sent, because a client that keeps sending to a closed connection may never receive the 413.
    assert.match(await told(headOf(service.key, 32 * MB + 1)), /^HTTP\/1\.1 413 /);
    const megabyte = Buffer.alloc(MB, 0x61);
    const chunks = [Buffer.from('{"x":"'), ...Array.from({ length: 32 }, () => megabyte)];
    assert.equal((await send(ReadableStream.from(chunks) as ReadableStream)).status, 413);
    assert.equal((await send(ReadableStream.from([Buffer.from(frame)]) as ReadableStream)).status, 200);
  });

  test(`${name}: answers every mutated request, never with an internal error`, async () => {
    const valid = {
      ...chatBody('[chunks=1]'),
      input: 'x',
      prompt: 'x',
      n: 1,
      stream: false,
      tools: [{ type: 'function' }],
    };
    await fc.assert(
      fc.asyncProperty(arbitraryMutatedJson([valid]), fc.constantFrom(...PATHS), async (body, path) => {
        const { status, error } = await send(JSON.stringify(body) ?? '', {}, path);
        assert.ok(status < 500, `${path} ${status} ${JSON.stringify(error)} ${JSON.stringify(body)}`);
      }),
      { numRuns: 300 },
    );
  });

  test(`${name}: refuses compressed bodies with the right error and strips a byte order mark`, async () => {
    for (const [coding, body] of [
      ['gzip', gzipSync(asked({}))],
      ['br', asked({})],
      ['gzip, gzip', asked({})],
    ] as const) {
      const { status, error } = await send(body, { 'content-encoding': coding });
      assert.deepEqual([status, error?.code], [415, 'unsupported_media_type'], coding);
      assert.match(error?.message ?? '', /Content-Encoding/);
    }
    assert.equal((await send(asked({}), { 'content-encoding': 'identity' })).status, 200);
    const kinds: Record<string, string>[] = [{}, { 'content-type': 'application/json;charset=UTF-8' }];
    for (const headers of kinds) assert.equal((await send(`\ufeff${asked({ stream: true })}`, headers)).status, 200);
  });

  test(`${name}: does not start background work that would continue unpaid after the response`, async () => {
    const respond = (members: string) =>
      send(`{"model":"sandbox-chat","input":"[chunks=1]",${members}}`, {}, '/v1/responses');
    for (const members of [
      '"background":true',
      '"background":"true"',
      '"background":1',
      '"background":true,"background":false',
      '"Background":true',
    ])
      assert.equal((await respond(members)).status, 400, members);
    for (const members of ['"background":false', '"background":null'])
      assert.equal((await respond(members)).status, 200, members);
  });

  const headOf = (key: string, length: number): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  const dial = () => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    return socket.on('error', () => {}).setEncoding('latin1');
  };
  /** Writes these bytes and returns the received text once the given number of responses has arrived. */
  const told = async (text: string, answers = 1): Promise<string> => {
    const socket = dial();
    socket.write(text);
    let heard = '';
    for await (const chunk of socket) {
      heard += chunk;
      if ((heard.match(/HTTP\/1\.1 \d/g)?.length ?? 0) >= answers) break;
    }
    return heard;
  };

  test(`${name}: callers who disconnect while sending or before the response leave nothing behind`, async () => {
    const body = asked({ stream: true });
    const whole = headOf(service.key, body.length) + body;
    for (let cut = 0; cut <= 40; cut++) {
      const socket = dial();
      socket.write(whole.slice(0, Math.ceil((whole.length * cut) / 40)));
      await pause(cut % 5);
      socket.destroy();
    }
    await pause(50);
    assert.equal((await service.ask('[chunks=1]')).status, 200);
  });

  test(`${name}: keeps the connection usable after a refusal that precedes the body`, async () => {
    const good = asked({});
    const both = await told(
      headOf('sk-wrong', 200_000) + 'x'.repeat(200_000) + headOf(service.key, good.length) + good,
      2,
    );
    assert.deepEqual(both.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  test(`${name}: refuses a revoked key at once; calls in flight continue`, async () => {
    const key = await service.operator.makeToken();
    const call = (): Promise<Told> => send(asked({}), { authorization: `Bearer ${key}` });
    assert.equal((await call()).status, 200);
    const underWay = fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('[chunks=40] [delay=10]', { stream: true })),
    });
    await pause(100);
    const { data } = await service.operator.request<{ id: number }[]>('GET', '/api/tokens');
    await service.operator.requestData('DELETE', `/api/tokens/${data[0]?.id}`);
    const { status, error } = await call();
    assert.deepEqual([status, error?.code], [401, 'invalid_api_key']);
    assert.ok((await (await underWay).text()).endsWith('data: [DONE]\n\n'));
  });
});
