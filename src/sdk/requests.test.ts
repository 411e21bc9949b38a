import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRequests, streamRequests } from '../contract/request-log.ts';
import { followRequests } from './requests.ts';
import type { Transport } from './transport.ts';

interface Row {
  readonly ref: string;
}
const toRow = (ref: string): Row => ({ ref });

/** A service with a log, newest first, in pages of two rows, and streams that send what a test gives them. */
function fakeService(log: string[], streams: readonly (() => readonly string[])[]) {
  const opened = streams[Symbol.iterator]();
  const asked: unknown[] = [];
  const send = async (endpoint: unknown, { query }: { query: Record<string, string> }) => {
    if (endpoint === listRequests) {
      asked.push(query);
      const first = Number(query.after ?? 0);
      const end = first + Math.min(2, Number(query.limit));
      const next = end < log.length ? String(end) : null;
      return Response.json({ data: log.slice(first, end).map(toRow), next });
    }
    const events = (opened.next().value?.() ?? []).map((ref) => `event: request\ndata: ${JSON.stringify({ ref })}\n\n`);
    return new Response(`: open\n\n${events.join('')}`, { headers: { 'content-type': 'text/event-stream' } });
  };
  return { asked, transport: { send } as unknown as Pick<Transport, 'send'> };
}

for (const [name, since, expected] of [
  ['from the rows already known', ['b', 'a'], ['c', 'd', 'e', 'f', 'g', 'h']],
  ['from now on', undefined, ['d', 'e', 'f', 'g', 'h']],
  ['from an empty log', [], ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']],
] as const)
  test(`calls that end while the connection is lost are neither missing nor repeated, ${name}`, async (t) => {
    const { setTimeout: start } = globalThis;
    // A lost connection is opened again at once; it may still be silent for a minute.
    t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => start(run, ms < 60_000 ? 0 : ms));
    const log = ['c', 'b', 'a'];
    const logged = (...refs: string[]): string[] => {
      log.unshift(...refs.toReversed());
      return refs;
    };
    const ended = new AbortController();
    const { asked, transport } = fakeService(log, [
      () => logged('d'),
      // Two ended meanwhile, and one of them is sent by the new stream too.
      () => [...logged('e', 'f', 'g').slice(-1), ...logged('h')],
      () => {
        ended.abort();
        return [];
      },
    ]);
    const seen: string[] = [];
    const endpoints = { list: listRequests, live: streamRequests };
    const options = {
      signal: ended.signal,
      ...(since === undefined ? {} : { since: since.map(toRow) }),
    };
    for await (const { ref } of followRequests<Row>(transport, endpoints, { kind: 'video' }, options)) seen.push(ref);
    assert.deepEqual(seen, expected);
    assert.ok(asked.every((query) => (query as { kind?: string }).kind === 'video'));
  });
