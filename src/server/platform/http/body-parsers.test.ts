import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type from 'typebox';
import { endpoint } from '../../../contract/endpoint.ts';
import { LARGE_BODY_BYTES } from './body.ts';
import { plain, startHttp } from './start-http-server.fixture.ts';

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
    const many = Array.from({ length: 51 }, (_, index) => part(`f${index}`, ''));
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
      ['too many fields', many, 400, /too many/],
      ['too many files', Array.from({ length: 5 }, () => file('f', 'x')), 400, /too many/],
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
