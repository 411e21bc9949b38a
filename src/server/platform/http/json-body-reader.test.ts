import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { AppError } from '../app-error.ts';
import { BodyAdmission, type BodySource, JsonBodyReader, LARGE_BODY_BYTES } from './body.ts';

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
