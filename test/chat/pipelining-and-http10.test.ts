import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { forOneDatabase } from '../for-each-database.ts';
import { type ChatService, chatBody, contentOf, eventsOf, startChat } from './chat-fixture.ts';

/** Decodes one chunked body (RFC 9112 section 7.1) from the start; returns it and the remaining bytes. */
function unchunk(bytes: Buffer): { body: string; sizes: number[]; rest: Buffer } {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const line = bytes.toString('latin1', at, end);
    assert.match(line, /^[0-9a-f]+$/, 'a chunk begins with its size');
    const size = Number.parseInt(line, 16);
    const begin = end + 2;
    assert.equal(bytes.toString('latin1', begin + size, begin + size + 2), '\r\n', 'a chunk is as long as it says');
    at = begin + size + 2;
    if (size === 0)
      return {
        body: Buffer.concat(pieces).toString(),
        sizes: pieces.map((piece) => piece.length),
        rest: bytes.subarray(at),
      };
    pieces.push(bytes.subarray(begin, begin + size));
  }
}

forOneDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl());
  });
  after(() => service.stop());

  const request = (text: string, options: { version?: string; headers?: string[] } = {}): string => {
    const body = JSON.stringify(chatBody(text, { stream: true }));
    return [
      `POST /v1/chat/completions HTTP/${options.version ?? '1.1'}`,
      'host: 127.0.0.1',
      `authorization: Bearer ${service.key}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      ...(options.headers ?? []),
      '',
      body,
    ].join('\r\n');
  };

  /** Writes the text in one piece and reads until the service closes the connection. */
  const exchange = (text: string): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.once('end', () => resolve(Buffer.concat(chunks)));
      socket.once('error', reject);
    });

  test(`${name}: pipelined streams on one connection arrive complete and in order`, async () => {
    const last = { headers: ['connection: close'] };
    let bytes = await exchange(request('[chunks=30] a') + request('[chunks=3] b') + request('[chunks=7] ü', last));
    for (const chunks of [30, 3, 7]) {
      const head = bytes.indexOf('\r\n\r\n') + 4;
      assert.match(bytes.toString('latin1', 0, head), /^HTTP\/1\.1 200 [\s\S]*transfer-encoding: chunked/i);
      const { body, sizes, rest } = unchunk(bytes.subarray(head));
      assert.equal(contentOf(body).split(' ').length, chunks);
      assert.equal(eventsOf(body).at(-1), '[DONE]');
      assert.ok(sizes.every((size) => size > 0));
      bytes = rest;
    }
    assert.equal(bytes.length, 0);
  });

  test(`${name}: HTTP/1.0 clients receive events without chunked encoding`, async () => {
    const text = (await exchange(request('[chunks=5] hello', { version: '1.0' }))).toString();
    const [head = '', body = ''] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n') + 4)];
    assert.ok(!/transfer-encoding/i.test(head), head);
    assert.ok(body.startsWith('data: '), body.slice(0, 40));
    assert.equal(contentOf(body).split(' ').length, 5);
  });
});
