import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { wordsSentFor } from '../../src/sandbox/chat.ts';
import { countTokens } from '../../src/server/chat/usage.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type ChatService, chatBody, PRICE, startChat } from './chat-fixture.ts';

/** Disconnects in total, over both databases. */
const CUTS = Number(process.env.CUTS ?? '200');
const AT_ONCE = 40;
const WORDS = 60;

forEachDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl());
  });
  after(() => service.stop());

  /** Disconnects at a random byte or moment; resolves with the number of words that arrived completely. */
  const listenAWhile = (tag: number): Promise<{ readonly id: string; readonly heard: number }> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(service.baseUrl);
      const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
      const body = JSON.stringify(chatBody(textOf(tag), { stream: true }));
      const sent = request({ port, path: '/v1/chat/completions', method: 'POST', headers }, (response) => {
        let text = '';
        const enough = Math.random() * 20_000;
        const leave = (): void => {
          resolve({
            id: String(response.headers['x-request-id']),
            heard: text
              .split('\n\n')
              .slice(0, -1)
              .filter((event) => /"content":" ?\w/.test(event)).length,
          });
          response.destroy();
        };
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          if (text.length > enough) leave();
        });
        response.once('end', leave);
        response.once('error', leave);
        if (Math.random() < 0.5) setTimeout(leave, Math.random() * 120);
      });
      sent.once('error', reject);
      sent.end(body);
    });
  const textOf = (tag: number): string => `[chunks=${WORDS}] [delay=1] [tag=${tag}]`;

  test(`${name}: streams cut anywhere are charged at least the received part and at most the sent part`, async () => {
    const first = name === 'sqlite' ? 100_000 : 200_000;
    const tags = Array.from({ length: CUTS / 2 }, (_, index) => first + index);
    const cuts = new Map<string, { readonly tag: number; readonly heard: number }>();
    const waiting = [...tags];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let tag = waiting.pop(); tag !== undefined; tag = waiting.pop()) {
          const { id, heard } = await listenAWhile(tag);
          cuts.set(`req_${id}`, { tag, heard });
        }
      }),
    );
    const ends = (await service.waitUntilSettled()).filter(({ kind }) => kind !== 'reserve');
    assert.equal(ends.length, tags.length, 'each has one end');
    let partly = 0;
    for (const { ref, charged, kind } of ends) {
      const { tag, heard } = cuts.get(ref) ?? { tag: 0, heard: 0 };
      const prompt = (await countTokens(textOf(tag))) * (PRICE.input_per_million / 1e6);
      const said = wordsSentFor(tag);
      const words = (charged - prompt) / (PRICE.output_per_million / 1e6);
      assert.equal(kind, 'settle', `${tag}: nobody listens for nothing`);
      // Complete streams use the upstream's own prompt count, which differs from ours.
      if (said < WORDS) {
        assert.ok(heard <= words && words <= said, `${tag}: heard ${heard}, charged ${words}, said ${said}`);
        partly++;
      } else assert.ok(charged >= heard * 4, `${tag}: heard ${heard}, charged ${charged}`);
    }
    assert.ok(partly > tags.length / 4, `${partly} were cut in the middle`);
    await assertLedgerConsistent(service.app.database);
  });
});
