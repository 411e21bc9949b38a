import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, it, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type from 'typebox';
import { endpoint } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import {
  BodyAdmission,
  type BodySource,
  CollectedRequest,
  JsonBodyReader,
  KeyedByteBudget,
  LARGE_BODY_BYTES,
  MAX_COLLECTED_BYTES,
} from './body.ts';
import { plain, startHttp } from './start-http-server.fixture.ts';

describe('body admission', () => {
  const BYTES = 2 * LARGE_BODY_BYTES;
  const BOUNDS = { maxBytesPerAccount: BYTES, maxBytesInTotal: 2 * BYTES, graceMs: 20, minBytesPerMs: 1 };

  function upload(account: string, bytes = BYTES) {
    const source = Object.assign(new PassThrough(), { socket: { bytesRead: 0 } });
    const response = new EventEmitter();
    const started = Promise.withResolvers<void>();
    const received = Promise.withResolvers<string>();
    return {
      source,
      response,
      started: started.promise,
      receive: received.resolve,
      request: { source, response, budgetKey: account, bytes },
      read: () => {
        started.resolve();
        return received.promise;
      },
    };
  }

  test('T66: a slow upload is aborted once others wait for its budget, and not before', async () => {
    const admission = new BodyAdmission(BOUNDS);
    const slow = upload('one');
    const outcome = admission.read(slow.request, slow.read).catch((error: unknown) => error);
    await slow.started;
    assert.equal(await Promise.race([outcome, nextTurn('going on')]), 'going on');
    const next = upload('one');
    const second = admission.read(next.request, next.read);
    assert.equal(((await outcome) as { code?: string }).code, 'request_timeout');
    slow.response.emit('finish');
    assert.ok(slow.source.destroyed);
    await next.started;
    next.receive('whole');
    assert.equal(await second, 'whole');
  });

  test('T66: a sufficiently fast upload continues although others wait', async () => {
    const admission = new BodyAdmission(BOUNDS);
    const fast = upload('one');
    const outcome = admission.read(fast.request, fast.read);
    await fast.started;
    const next = upload('one');
    const second = admission.read(next.request, next.read);
    fast.source.socket.bytesRead = 1e9;
    await new Promise((resolve) => setTimeout(resolve, 5 * BOUNDS.graceMs));
    fast.receive('whole');
    assert.equal(await outcome, 'whole');
    fast.response.emit('close');
    await next.started;
    next.receive('next');
    assert.equal(await second, 'next');
  });

  test('T61: the bodies of all accounts share a limit, and a finished one makes room', async () => {
    const admission = new BodyAdmission({ ...BOUNDS, graceMs: 60_000 });
    const [first, second, third] = [upload('one'), upload('two'), upload('three')];
    const reads = [first, second, third].map(({ request, read }) => admission.read(request, read));
    await Promise.all([first.started, second.started]);
    let isTaken = false;
    void third.started.then(() => {
      isTaken = true;
    });
    first.receive('one');
    assert.equal(await reads[0], 'one');
    assert.equal(isTaken, false, 'its handler still has what was read');
    first.response.emit('close');
    await third.started;
    second.receive('two');
    third.receive('three');
    assert.deepEqual(await Promise.all(reads), ['one', 'two', 'three']);
  });

  test('a waiting body is dropped with its connection, and small bodies never wait', async () => {
    const admission = new BodyAdmission({ ...BOUNDS, graceMs: 60_000 });
    const first = upload('one');
    const whole = admission.read(first.request, first.read);
    await first.started;
    const small = upload('one', 100);
    small.receive('small');
    assert.equal(await admission.read(small.request, small.read), 'small');
    const waiting = upload('one');
    const given = admission.read(waiting.request, waiting.read);
    waiting.source.destroy();
    await assert.rejects(given, { code: 'invalid_json' });
    first.receive('whole');
    assert.equal(await whole, 'whole');
  });
});

describe('body parsers', () => {
  const JSON_TYPE = { 'content-type': 'application/json' };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  const MULTIPART = { 'content-type': 'multipart/form-data; boundary=B' };

  const part = (name: string, value: string, more = '') =>
    `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const file = (name: string, value: string) =>
    part(name, value, `; filename="f.bin"`).replace('\r\n\r\n', '\r\nContent-Type: image/png\r\n\r\n');
  const multipart = (...parts: readonly string[]) => `${parts.join('')}--B--\r\n`;

  describe('bodies', () => {
    let http: Awaited<ReturnType<typeof startHttp>>;
    before(async () => {
      http = await startHttp();
      const answer = { response: Type.Object({ got: Type.Unknown(), files: Type.Unknown() }) };
      for (const [path, accepts] of [
        ['/v1/json', 'json'],
        ['/v1/form', 'form'],
        ['/v1/both', 'json-or-multipart'],
      ] as const)
        http.routes.add(
          endpoint({
            ...plain,
            ...answer,
            envelope: 'model',
            method: 'POST',
            path,
            accepts,
            bodyLimit: 8_000_000,
            jsonBodyLimit: 1_000,
          }),
          async ({ request }) => ({
            got: context(request).body,
            files: request.files.map(({ field, filename, mimeType, bytes }) => [
              field,
              filename,
              mimeType,
              String(bytes),
            ]),
          }),
        );
      http.routes.add(
        endpoint({ ...plain, ...answer, method: 'POST', path: '/v1/kept', bodyLimit: 8_000_000 }),
        async ({ request }) => {
          begun.resolve();
          await once(request.disconnected, 'abort');
          for (let turns = 0; turns < 5; turns++) await nextTurn();
          kept.resolve(request.rawBody?.length);
          return { got: undefined, files: [] };
        },
      );
      http.fastify.addHook('preHandler', async (request) => {
        bodies.set(request.id, request.body);
      });
      await http.start();
    });
    after(() => http.close(0));
    const begun = Promise.withResolvers<void>();
    const kept = Promise.withResolvers<number | undefined>();
    const bodies = new Map<string, unknown>();
    const context = ({ id }: { readonly id: string }) => ({ body: bodies.get(id) });

    const send = async (path: string, body: string, headers: Record<string, string>) => {
      const { status, body: text } = await http.send('POST', path, body, headers);
      const parsed = JSON.parse(text) as { got?: unknown; files?: unknown; error?: { message: string } };
      return { status, ...parsed, message: parsed.error?.message ?? '' };
    };

    it('are parsed as the endpoint declares, not as the sender declares', async () => {
      assert.deepEqual((await send('/v1/json', '{"a":1}', JSON_TYPE)).got, { a: 1 });
      assert.deepEqual((await send('/v1/both', '{"a":1}', JSON_TYPE)).got, { a: 1 });
      assert.deepEqual((await send('/v1/form', 'a=1&b=x+y', FORM)).got, { a: '1', b: 'x y' });
      assert.deepEqual((await send('/v1/both', multipart(part('a', '1')), MULTIPART)).got, { a: '1' });
      for (const [path, body, headers, expected] of [
        ['/v1/form', '{"a":1}', JSON_TYPE, 'application/x-www-form-urlencoded'],
        ['/v1/json', 'a=1', FORM, 'application/json'],
        ['/v1/both', 'a=1', FORM, 'application/json or multipart/form-data'],
        ['/v1/json', multipart(part('a', '1')), MULTIPART, 'application/json'],
        ['/v1/form', multipart(part('a', '1')), MULTIPART, 'application/x-www-form-urlencoded'],
        ['/v1/json', 'a', { 'content-type': 'text/plain' }, 'application/json'],
      ] as const) {
        const { status, message } = await send(path, body, headers);
        assert.equal(status, 415, `${path} ${headers['content-type']}`);
        assert.ok(message.includes(expected), message);
      }
    });

    it('are refused with a Content-Encoding', async () => {
      const coded = (coding: string) => send('/v1/json', '{"a":1}', { ...JSON_TYPE, 'content-encoding': coding });
      assert.equal((await coded('gzip')).status, 415);
      assert.match((await coded('gzip')).message, /without Content-Encoding/);
      assert.equal((await coded('identity')).status, 200);
      assert.equal((await coded('IDENTITY')).status, 200);
    });

    it('stay complete for a handler whose client has disconnected', async () => {
      const { port } = http.fastify.server.address() as AddressInfo;
      const socket = connect(port, '127.0.0.1');
      const body = JSON.stringify('x'.repeat(LARGE_BODY_BYTES));
      const head = `POST /v1/kept HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`${head}\r\n\r\n${body}`);
      await begun.promise;
      socket.destroy();
      assert.equal(await kept.promise, body.length);
    });

    it('have their own size limit for JSON', async () => {
      assert.equal((await send('/v1/both', JSON.stringify('x'.repeat(998)), JSON_TYPE)).status, 200);
      assert.equal((await send('/v1/both', JSON.stringify('x'.repeat(999)), JSON_TYPE)).status, 413);
      assert.equal((await send('/v1/both', multipart(part('a', 'x'.repeat(2_000))), MULTIPART)).status, 200);
    });

    it('contain each field of a form once, in text that a database can store', async () => {
      assert.match((await send('/v1/form', 'a=1&a=2', FORM)).message, /a is given twice/);
      assert.equal((await send('/v1/form', 'a=%00', FORM)).status, 400);
      assert.deepEqual((await send('/v1/form', '__proto__=x&a=1', FORM)).status, 200);
    });

    it('of multipart/form-data contain fields, nested fields and files', async () => {
      const body = multipart(part('model', 'm'), part('o[a]', '1'), part('o[b]', '2'), file('image', 'bytes'));
      const { got, files } = await send('/v1/both', body, MULTIPART);
      assert.deepEqual(got, { model: 'm', o: { a: '1', b: '2' } });
      assert.deepEqual(files, [['image', 'f.bin', 'image/png', 'bytes']]);
    });

    it('of multipart/form-data are refused with a reason', async () => {
      const many = Array.from({ length: 201 }, (_, index) => part(`f${index}`, ''));
      const deep = `${'['.repeat(65)}${']'.repeat(65)}`;
      const jsonPart = (value: string) =>
        part('a', value).replace('\r\n\r\n', '\r\nContent-Type: application/json\r\n\r\n');
      for (const [name, parts, status, reason] of [
        ['a field twice', [part('a', '1'), part('a', '2')], 400, /a is given twice/],
        ['a member twice', [part('a[b]', '1'), part('a[b]', '2')], 400, /a is given twice/],
        ['a value and then a member', [part('a', '1'), part('a[b]', '2')], 400, /a is given twice/],
        ['a member and then a value', [part('a[b]', '1'), part('a', '2')], 400, /a is given twice/],
        ['an invalid name', [part('a b', '1')], 400, /part name/],
        ['a name of the prototype', [part('__proto__', '1')], 400, /part name|could not be read/],
        ['a constructor', [part('constructor', '1')], 400, /part name|could not be read/],
        ['a member of the prototype', [part('a[__proto__]', '1')], 400, /part name/],
        ['a long name', [part('a'.repeat(65), '1')], 400, /part name/],
        ['a very long name', [part('a'.repeat(5_000), '1')], 400, /part name/],
        ['a large field', [part('a', 'x'.repeat(1024 * 1024 + 1))], 413, /1 MiB per field/],
        ['invalid text', [part('a', '\0')], 400, /./],
        ['text that was not UTF-8', [part('a', '\xd7\xf8')], 400, /well-formed/],
        ['JSON that was not UTF-8', [jsonPart('{"x":"\xd7\xf8"}')], 400, /well-formed/],
        ['too many fields', many, 400, /too many/],
        ['too many files', Array.from({ length: 41 }, () => file('f', 'x')), 400, /too many/],
        ['deep JSON', [jsonPart(deep)], 400, /./],
        ['invalid JSON', [jsonPart('{')], 400, /./],
      ] as const) {
        const { status: given, message } = await send('/v1/both', multipart(...parts), MULTIPART);
        assert.equal(given, status, `${name}: ${message}`);
        assert.match(message, reason, name);
      }
      assert.deepEqual((await send('/v1/both', multipart(jsonPart('{"x":[1]}')), MULTIPART)).got, { a: { x: [1] } });
    });

    it('of multipart/form-data are refused when truncated', async () => {
      for (const body of [part('a', '1'), '--B\r\nContent-Disp', 'nothing of the kind', file('image', 'by')]) {
        const { status, message } = await send('/v1/both', body, MULTIPART);
        assert.equal(status, 400, body);
        assert.match(message, /multipart|malformed|too early/i, body);
      }
    });
  });
});

describe('collected body', () => {
  type Http = Awaited<ReturnType<typeof startHttp>>;

  let http: Http;
  let port: number;
  /** Answers each request, whose body is not read yet. */
  let serve: (request: CollectedRequest, response: ServerResponse) => Promise<void>;

  const read = async (source: IncomingMessage): Promise<unknown> => {
    const body = await http.bodyReader.read(source, { limit: 1_000_000, budgetKey: 'a', response: new EventEmitter() });
    return body?.value;
  };
  const echo = async (request: CollectedRequest, response: ServerResponse): Promise<void> => {
    const value = await read(request);
    const shown = typeof value === 'string' ? value.length : JSON.stringify(value);
    response.end(`${request.isCollected ? 'collected' : 'streamed'} ${shown}`);
  };

  beforeEach(async () => {
    http = await startHttp({ bodyGraceMs: 600 });
    http.addFastPath((request, response) => {
      assert.ok(request instanceof CollectedRequest);
      request.collectBody(Number(request.headers['content-length']));
      serve(request, response).catch(() => response.destroy());
      return true;
    });
    port = await http.start();
    serve = echo;
  });
  afterEach(() => http.close(0));

  const requestOf = (body: string, length = body.length): string =>
    `POST /v1/x HTTP/1.1\r\nHost: gate.example\r\nContent-Length: ${length}\r\n\r\n${body}`;

  /** The bodies of chunked and fixed-length responses within the received bytes. */
  const bodiesIn = (received: string): string[] =>
    [...received.matchAll(/(?:collected|streamed|refused)[^\r\nH]*/g)].map(([body]) => body);

  /** Sends each piece in a packet of its own, and waits for the given number of responses. */
  async function talk(pieces: readonly string[], responses = 1): Promise<string[]> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    while (bodiesIn(received).length < responses) await once(socket, 'data');
    socket.destroy();
    return bodiesIn(received);
  }

  async function openAndSend(bytes: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  }

  /** The next request, before anything of it was read. */
  const nextRequest = (): Promise<CollectedRequest> =>
    new Promise((resolve) => {
      serve = async (request) => resolve(request);
    });

  test('a small body is collected, whether it arrives with its head or in many pieces', async () => {
    const whole = requestOf('{"a":[1,2]}');
    assert.deepEqual(await talk([whole]), ['collected {"a":[1,2]}']);
    assert.deepEqual(await talk([...whole]), ['collected {"a":[1,2]}']);
  });

  test('requests follow one another on a connection, even when several arrive at once', async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const expected = numbers.map((number) => `collected {"n":${number}}`);
    const requests = numbers.map((number) => requestOf(`{"n":${number}}`));
    assert.deepEqual(await talk(requests, 20), expected);
    assert.deepEqual(await talk([requests.join('')], 20), expected);
  });

  test('a body may be read later than it arrives', async () => {
    serve = async (request, response) => {
      while (!request.complete) await nextTurn();
      await nextTurn();
      await echo(request, response);
    };
    assert.deepEqual(await talk([requestOf('{"a":1}')]), ['collected {"a":1}']);
  });

  test('a body above the collection limit stays in the stream, and one of exactly the limit is collected', async () => {
    const text = 'x'.repeat(MAX_COLLECTED_BYTES - 2);
    assert.deepEqual(await talk([requestOf(`"${text}"`)]), [`collected ${text.length}`]);
    assert.deepEqual(await talk([requestOf(`"${text}x"`)]), [`streamed ${text.length + 1}`]);
  });

  test('a body is left in the stream when part of it is already there', async () => {
    const request = new CollectedRequest(new Socket());
    request.push(Buffer.from('{"a"'));
    request.collectBody(7);
    assert.equal(request.isCollected, false);
    request.push(Buffer.from(':1}'));
    request.push(null);
    assert.equal(Buffer.concat(await Array.fromAsync(request)).toString(), '{"a":1}');
    assert.throws(() => request.collectedBody(), /not collected/);
  });

  test('a response before the body leaves the connection ready for the next request', async () => {
    serve = async (_request, response) => {
      serve = echo;
      response.end('refused');
    };
    const [first = '', second = ''] = [requestOf('{"a":1}'), requestOf('{"a":2}')];
    assert.deepEqual(await talk([first.slice(0, -4), first.slice(-4), second], 2), ['refused', 'collected {"a":2}']);
  });

  test('bytes received after an early response are not taken for the body', async () => {
    const coming = nextRequest();
    const socket = await openAndSend(requestOf('{"a":1', 7));
    const request = await coming;
    const body = Promise.resolve(request.collectedBody());
    // Node does this with the rest of a request whose response has ended.
    (request as unknown as { _dump(): void })._dump();
    socket.write('}');
    assert.equal((await body).toString(), '{"a":1');
    socket.destroy();
  });

  test('a client that disconnects within the body ends the read, whether started or not', async () => {
    for (const readsFirst of [true, false]) {
      const coming = nextRequest();
      const socket = await openAndSend(requestOf('{"a"', 7));
      const request = await coming;
      const isRefused = (): Promise<void> =>
        assert.rejects(read(request), (error) => error instanceof AppError && error.code === 'invalid_json');
      const outcome = readsFirst ? isRefused() : undefined;
      socket.destroy();
      await new Promise((resolve) => request.on('close', resolve));
      await (outcome ?? isRefused());
    }
  });

  test('a body that is not JSON is refused like a streamed one', async () => {
    serve = async (request, response) => {
      const code = await read(request).catch((error: unknown) => (error as AppError).code);
      response.end(`refused ${code}`);
    };
    assert.deepEqual(await talk([requestOf('{"a":')]), ['refused invalid_json']);
    assert.deepEqual(await talk([requestOf('{"a":"\\u0000"}')]), ['refused invalid_text']);
  });

  test('T66: a collected body that stalls ends in a 408', async () => {
    const socket = await openAndSend(requestOf('{"a"', 100));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    await once(socket, 'close');
    assert.match(received, /^HTTP\/1\.1 408 /);
  });

  test('a request with a collected body counts as read and closed, without stream events', async () => {
    const coming = nextRequest();
    const socket = await openAndSend(requestOf('{"a":1}'));
    const request = await coming;
    assert.deepEqual(await read(request), { a: 1 });
    assert.deepEqual([request.complete, request.readableEnded, request.aborted], [true, true, false]);
    socket.destroy();
  });
});

describe('json body reader', () => {
  const KIB = 1024;

  const newReader = () => new JsonBodyReader(new BodyAdmission());
  const socket = { bytesRead: 0 };

  const sourceOf = (chunks: readonly (string | Buffer)[], headers: Record<string, string> = {}): BodySource =>
    Object.assign(
      Readable.from(
        chunks.map((chunk) => Buffer.from(chunk)),
        { objectMode: false },
      ),
      { headers, socket },
    );

  const announced = (text: string, length = Buffer.byteLength(text)): BodySource =>
    sourceOf([text], { 'content-length': String(length) });

  const options = (limit: number, maxValues?: number) => ({
    limit,
    maxValues,
    budgetKey: 'a',
    response: new EventEmitter(),
  });

  /** The value, or the code of the error. */
  async function read(source: BodySource, limit = 64 * KIB, maxValues?: number): Promise<unknown> {
    try {
      return (await newReader().read(source, options(limit, maxValues)))?.value;
    } catch (error) {
      assert.ok(error instanceof AppError, String(error));
      return error.code;
    }
  }

  describe('JSON bodies', () => {
    it('are read completely, in whatever pieces they arrive', async () => {
      assert.deepEqual(await read(announced('{"a":[1,2]}')), { a: [1, 2] });
      assert.deepEqual(await read(sourceOf(['{"a"', ':[1', ',2]}'])), { a: [1, 2] });
      assert.deepEqual(await read(sourceOf(['{"a"', ':1}'], { 'content-length': '7' })), { a: 1 });
      const body = await newReader().read(sourceOf(['{"a"', ':1}'], { 'content-length': '7' }), options(99));
      assert.equal(body?.bytes.toString(), '{"a":1}');
    });

    it('are released immediately when large, and left to the garbage collector when they share memory', async () => {
      const texts = ['{"a":1}', JSON.stringify('x'.repeat(LARGE_BODY_BYTES))];
      const lengths = [];
      for (const text of texts) {
        const body = await newReader().read(announced(text), options(2 * LARGE_BODY_BYTES));
        body?.discard();
        body?.discard();
        lengths.push(body?.bytes.length);
      }
      assert.deepEqual(lengths, [7, 0]);
      assert.equal(Buffer.from('of the same pool').toString(), 'of the same pool');
    });

    it('may be empty', async () => {
      assert.equal(await read(sourceOf([])), undefined);
      assert.equal(await read(announced('')), undefined);
    });

    it('with a wrong length are read as they arrived', async () => {
      assert.deepEqual(await read(announced('{"a":1}', 100)), { a: 1 });
      assert.deepEqual(await read(sourceOf(['{"a"', ':1}'], { 'content-length': '4' })), { a: 1 });
      assert.deepEqual(await read(sourceOf(['{"a"', ':1', '}'], { 'content-length': '5' })), { a: 1 });
      assert.deepEqual(await read(announced('{"a":1}', Number.NaN)), { a: 1 });
    });

    it('above the limit are refused, by their announced length and while they arrive', async () => {
      const exact = JSON.stringify('x'.repeat(98));
      assert.equal(await read(announced(exact), 100), 'x'.repeat(98));
      assert.equal(await read(sourceOf([exact]), 100), 'x'.repeat(98));
      assert.equal(await read(announced(exact, 101), 100), 'body_too_large');
      assert.equal(await read(sourceOf([exact]), 99), 'body_too_large');
      assert.equal(await read(sourceOf(['"', exact]), 100), 'body_too_large');
      const endless = Object.assign(new PassThrough(), { headers: { 'content-length': String(1e9) }, socket });
      assert.equal(await read(endless, 100), 'body_too_large');
    });

    it('above the limit are refused with the limit in KiB', async () => {
      await assert.rejects(newReader().read(announced('', 9_999), options(2 * KIB + 1)), (error: AppError) => {
        assert.deepEqual(error.options.params, { limit: '2 KiB' });
        return true;
      });
    });

    it('that are not JSON or contain invalid text are refused, and the rest is received', async () => {
      const source = sourceOf(['{"a":x', ...Array.from({ length: 50 }, () => 'y'.repeat(1_000))]);
      assert.equal(await read(source), 'invalid_json');
      if (!source.readableEnded) await once(source, 'end');
      assert.equal(await read(announced('{"a":"\\ud800"}')), 'invalid_text');
      assert.equal(await read(announced('[1,2,3]'), KIB, 3), 'invalid_json');
      assert.deepEqual(await read(announced('[1,2,3]'), KIB, 4), [1, 2, 3]);
    });

    it('that are truncated are refused', async () => {
      for (const end of [
        (source: PassThrough) => source.destroy(new Error('reset')),
        (source: PassThrough) => source.destroy(),
      ]) {
        const source = Object.assign(new PassThrough(), { headers: {}, socket });
        source.write('{"a":');
        const outcome = read(source);
        setImmediate(end, source);
        assert.equal(await outcome, 'invalid_json');
      }
    });

    it('leave no listener behind', async () => {
      const source = sourceOf(['{"a":1}', ' '.repeat(300 * KIB)]);
      assert.deepEqual(await read(source, 1024 * KIB), { a: 1 });
      for (const event of ['data', 'error']) assert.equal(source.listenerCount(event), 0, event);
    });
  });

  describe('large bodies of one account', () => {
    const text = JSON.stringify('x'.repeat(20 * KIB * KIB));

    it('are handled sequentially per account, and in parallel across accounts', async () => {
      const reader = newReader();
      const started: string[] = [];
      const body = (name: string) => {
        const source = Object.assign(new PassThrough(), { headers: { 'content-length': String(text.length) }, socket });
        source.once('resume', () => started.push(name));
        return source;
      };
      const [first, second, other] = [body('first'), body('second'), body('other')];
      const limits = { limit: 64 * KIB * KIB, response: new EventEmitter() };
      const one = reader.read(first, { ...limits, budgetKey: 'a' });
      const two = reader.read(second, { ...limits, budgetKey: 'a' });
      const three = reader.read(other, { ...limits, budgetKey: 'b' });
      other.end(text);
      assert.equal((await three)?.bytes.length, text.length);
      assert.deepEqual(started.toSorted(), ['first', 'other']);
      first.end(text);
      await one;
      second.end(text);
      assert.equal((await two)?.bytes.length, text.length);
      assert.equal(first.listenerCount('close'), 0);
    });

    it('release their turn when the client disconnects', async () => {
      const reader = newReader();
      const body = () =>
        Object.assign(new PassThrough(), { headers: { 'content-length': String(20 * KIB * KIB) }, socket });
      const limits = { limit: 64 * KIB * KIB, budgetKey: 'a', response: new EventEmitter() };
      const [first, second] = [body(), body()];
      const one = reader.read(first, limits);
      const two = reader.read(second, limits);
      second.destroy();
      await assert.rejects(two, { code: 'invalid_json' });
      first.end('1');
      assert.equal((await one)?.value, 1);
      const third = body();
      const three = reader.read(third, limits);
      third.end('3');
      assert.equal((await three)?.value, 3);
    });

    it('never wait below the threshold for large bodies', async () => {
      const reader = newReader();
      const blocking = Object.assign(new PassThrough(), {
        headers: { 'content-length': String(32 * KIB * KIB) },
        socket,
      });
      const limits = { limit: 64 * KIB * KIB, budgetKey: 'a', response: new EventEmitter() };
      const blocked = reader.read(blocking, limits);
      assert.equal((await reader.read(sourceOf(['1'], { 'content-length': String(256 * KIB) }), limits))?.value, 1);
      blocking.end('2');
      assert.equal((await blocked)?.value, 2);
    });
  });
});

describe('keyed byte budget', () => {
  const { signal } = new AbortController();

  it('blocks only the exhausted key, keeps its order, and admits a single oversized item alone', async () => {
    const budget = new KeyedByteBudget(10, 100);
    const order: string[] = [];
    const take = async (name: string, key: string, bytes: number) => {
      const release = await budget.acquire(key, bytes, signal);
      order.push(name);
      return release;
    };
    const first = await take('first', 'a', 30);
    const second = take('second', 'a', 6);
    const third = take('third', 'a', 6);
    (await take('other', 'b', 5))();
    assert.deepEqual(order, ['first', 'other']);
    first();
    first();
    const release = await second;
    await nextTurn();
    assert.deepEqual(order, ['first', 'other', 'second']);
    release();
    (await third)();
    assert.deepEqual(order, ['first', 'other', 'second', 'third']);
  });

  it('limits all keys together, and drops waiters that left', async () => {
    const budget = new KeyedByteBudget(10, 15);
    const release = await budget.acquire('a', 10, signal);
    const leaving = new AbortController();
    const left = budget.acquire('b', 10, leaving.signal);
    leaving.abort(new Error('gone'));
    await assert.rejects(left, /gone/);
    const next = budget.acquire('c', 10, signal);
    release();
    (await next)();
    (await budget.acquire('b', 15, signal))();
  });

  it('counts the bytes a key still holds, and reports whether any request waits', async () => {
    const budget = new KeyedByteBudget(10, 100);
    const [first] = [await budget.acquire('a', 4, signal), await budget.acquire('a', 4, signal)];
    first();
    let isTaken = false;
    assert.equal(budget.isWaitedFor, false);
    const leaving = new AbortController();
    const waiting = budget.acquire('a', 7, leaving.signal).then(() => {
      isTaken = true;
    });
    await nextTurn();
    assert.deepEqual([isTaken, budget.isWaitedFor], [false, true]);
    leaving.abort(new Error('gone'));
    await assert.rejects(waiting, /gone/);
    assert.equal(budget.isWaitedFor, false);
    await assert.rejects(budget.acquire('b', 1, AbortSignal.abort(new Error('gone before'))), /gone before/);
  });

  it('admits items of a key in order even if a later one would fit, and an oversized one alone', async () => {
    const budget = new KeyedByteBudget(10, 20);
    const alone = await budget.acquire('a', 30, signal);
    const started: string[] = [];
    const acquire = async (name: string, key: string, bytes: number) => {
      const release = await budget.acquire(key, bytes, signal);
      started.push(name);
      return release;
    };
    const [half, large, small] = [acquire('half', 'b', 6), acquire('large', 'b', 8), acquire('small', 'b', 2)];
    await nextTurn();
    assert.deepEqual(started, []);
    alone();
    const releaseHalf = await half;
    await nextTurn();
    assert.deepEqual(started, ['half']);
    releaseHalf();
    await Promise.all([large, small]);
    assert.deepEqual(started, ['half', 'large', 'small']);
  });
});
