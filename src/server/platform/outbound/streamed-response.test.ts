import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { freeChunk, streamingHandler } from './client.ts';
import { type ExchangeControl, OutboundError, type OutboundResponse } from './outbound.ts';

function open() {
  const log: string[] = [];
  const control: ExchangeControl = {
    pause: () => void log.push('pause'),
    resume: () => void log.push('resume'),
    abort: () => void log.push('abort'),
  };
  let response: OutboundResponse | undefined;
  let error: OutboundError | undefined;
  const handler = streamingHandler(
    (given) => {
      response = given;
    },
    (given) => {
      error = given;
    },
    () => void log.push('over'),
  );
  return {
    log,
    control,
    handler,
    begin() {
      handler.head(200, { a: 'b' }, control);
      return response as OutboundResponse;
    },
    rejection: () => error,
  };
}

const broken = new OutboundError('body', 'broken');

describe('streamed response', () => {
  it('has its head, its chunks and its end', async () => {
    const { handler, control, begin, log } = open();
    const { status, headers, body } = begin();
    assert.deepEqual([status, headers], [200, { a: 'b' }]);
    handler.chunk(Buffer.from('one '), control);
    handler.chunk(Buffer.from('two'), control);
    handler.end();
    assert.equal(Buffer.concat(await body.toArray()).toString(), 'one two');
    assert.equal(log.filter((line) => line === 'over').length, 1);
    assert.ok(!log.includes('pause'));
  });

  it('releases a chunk that shares its memory with nothing, and no other', async () => {
    const { handler, control, begin } = open();
    const { body } = begin();
    const [whole, part] = [Buffer.alloc(100, 1), Buffer.alloc(100, 2).subarray(1)];
    assert.equal(whole.buffer.byteLength, 100);
    handler.chunk(whole, control);
    handler.chunk(part, control);
    handler.end();
    for await (const chunk of body as AsyncIterable<Buffer>) freeChunk(body, chunk);
    assert.deepEqual([whole.length, part.length], [0, 99]);
    const foreign = Buffer.alloc(100, 3);
    freeChunk(Readable.from([foreign]), foreign);
    assert.equal(foreign.length, 100);
  });

  it('pauses the socket while its reader is paused, and resumes with it', async () => {
    const { handler, control, begin, log } = open();
    const { body } = begin();
    handler.chunk(Buffer.alloc(64 * 1024), control);
    assert.deepEqual(log, ['pause']);
    body.resume();
    await once(body, 'data');
    await new Promise(setImmediate);
    assert.ok(log.includes('resume'));
    body.destroy();
  });

  it('aborts the exchange when it is destroyed, without an error', async () => {
    const { handler, begin, log } = open();
    const { body } = begin();
    const errors: unknown[] = [];
    body.on('error', (error) => errors.push(error));
    body.destroy();
    handler.fail(broken);
    await new Promise(setImmediate);
    assert.deepEqual(errors, []);
    assert.deepEqual(log, ['abort', 'over']);
  });

  it('passes a failure to its reader, even one that occurred before the read', async () => {
    const { handler, begin } = open();
    const { body } = begin();
    handler.fail(broken);
    await new Promise(setImmediate);
    await assert.rejects(body.toArray());
    const late = open();
    const reading = late.begin().body.toArray();
    late.handler.fail(broken);
    await assert.rejects(reading, (error) => error === broken);
  });

  it('rejects when it fails before its head', () => {
    const { handler, rejection, log } = open();
    handler.fail(broken);
    assert.equal(rejection(), broken);
    assert.deepEqual(log, ['over']);
  });
});
