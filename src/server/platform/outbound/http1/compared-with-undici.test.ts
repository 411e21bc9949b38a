import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Agent, buildConnector } from '../undici-without-fetch.ts';
import { Http1Agent } from './http1-agent.ts';
import { makeResponse, numbers } from './odd-responses.fixture.ts';
import { ask, connector, type Notes, type ReceivedRequest, startServer } from './raw-server.fixture.ts';

const CASES = 2_000;
const AT_ONCE = 12;

interface Outcome {
  readonly status: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What the handler had of the response, or undefined where it failed. */
function outcomeOf({ log, headers, body }: Notes): Outcome | undefined {
  assert.equal(log.filter((line) => line.startsWith('end') || line.startsWith('fail')).length, 1, log.join());
  if (log.at(-1) !== 'end') return undefined;
  // undici leaves blanks behind values.
  const joined = Object.entries(headers).map(([name, value]) => [
    name,
    [value]
      .flat()
      .join(', ')
      .replace(/[\t ]+(?=,|$)/g, ''),
  ]);
  return { status: log.at(-2) ?? '', headers: Object.fromEntries(joined), body: body.toString('latin1') };
}

/** The final head, with the interim ones before it. */
const headOf = (text: string): string => /^(?:HTTP\/1\.1 1.*?\r\n\r\n)?.*?(?:\r\n\r\n|$)/s.exec(text)?.[0] ?? '';
const CODING = /\r\ntransfer-encoding:[\t ]*([^\r\n]*)/gi;
type Differences = readonly (readonly [reason: string, isSo: (text: string) => boolean])[];

/** What undici takes and we refuse on purpose. */
const STRICTER: Differences = [
  ['nothing is before the status line', (text) => /^(?:HTTP\/1\.[01] 1.*?\r\n\r\n)?[\r\n]/s.test(text)],
  [
    'only "chunked", once, is a coding whose end is known: undici reads on by other framings, or ignores the coding',
    (text) => {
      const codings = [...headOf(text).matchAll(CODING)];
      return codings.length > 1 || (codings.length === 1 && !/^chunked[\t ]*$/i.test(codings[0]?.[1] ?? ''));
    },
  ],
  ['control characters are in no part of a head', (text) => /[^\t\n\r\x20-\x7e\x80-\xff]/.test(headOf(text))],
  ['a chunk size has at most 13 digits, what a number holds', (text) => /\r\n[0-9a-f]{14,}[;\r]/i.test(text)],
];

/** undici takes them for a part of the value, and then knows neither (RFC 9110 section 5.5). */
const BLANKS_BEHIND_FRAMING = /\r\n(?:content-length|transfer-encoding):[^\r\n]*[\t ]\r\n/i;

/** What we take and undici refuses. */
const MILDER: Differences = [
  ['blanks behind a length or a coding', (text) => BLANKS_BEHIND_FRAMING.test(text)],
  ['extensions of chunks are not looked into', (text) => /\r\n[0-9a-f]+;[^\r\n]*\r\n/i.test(text)],
  [
    '100 is passed over although nobody has asked for it (RFC 9110 section 15.2)',
    (text) => /^HTTP\/1\.[01] 100/.test(text),
  ],
];
const reasonIn = (differences: Differences, text: string): string | undefined =>
  differences.find(([, isSo]) => isSo(text))?.[0];

describe('T55: a response that undici reads too', () => {
  it('is the same, and what only one of us takes is known and has a reason', async (t) => {
    const next = numbers(20_261_126);
    const texts = Array.from({ length: CASES }, () => makeResponse(next));
    const respond = async ({ socket, path }: ReceivedRequest): Promise<void> => {
      const index = Number(path.slice(1));
      const split = numbers(index);
      const bytes = Buffer.from(texts[index] ?? '', 'latin1');
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + split(split(2) === 0 ? 8 : bytes.length);
        socket.write(bytes.subarray(at, end));
        at = end;
        // Most writes arrive by themselves; few enough of them that a case is quick.
        if (split(4) > 0) await nextTurn();
      }
      socket.end();
    };
    const server = await startServer(t, (request) => void respond(request));
    const connectUndici = buildConnector({ allowH2: false, timeout: 60_000 });
    const connectOurs = connector();
    const seen = new Map<string, number>();
    const queue = texts.entries();
    const compare = async (): Promise<void> => {
      for (const [index, text] of queue) {
        const undici = new Agent({ connect: connectUndici, pipelining: 1 });
        const ours = new Http1Agent(connectOurs, 1);
        const more = { path: `/${index}`, headersTimeout: 60_000, bodyTimeout: 60_000 };
        const notes = [undici, ours].map((agent) => ask(agent, server.origin, {}, more));
        await Promise.all(notes.map(({ done }) => done));
        const [theirOutcome, ourOutcome] = notes.map(outcomeOf);
        ours.destroy();
        await undici.destroy();
        let kind: string | undefined = ourOutcome === undefined ? 'refused by both' : 'read by both';
        if (ourOutcome === undefined && theirOutcome !== undefined) kind = reasonIn(STRICTER, text);
        else if (ourOutcome !== undefined && theirOutcome === undefined) kind = reasonIn(MILDER, text);
        else if (!BLANKS_BEHIND_FRAMING.test(text)) assert.deepEqual(ourOutcome, theirOutcome, JSON.stringify(text));
        assert.ok(kind !== undefined, `${JSON.stringify(text)}: ${notes.map(({ log }) => log.join())}`);
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, compare));
    for (const [reason] of [...STRICTER, ...MILDER]) assert.ok(seen.has(reason), `no response for: ${reason}`);
    assert.ok((seen.get('read by both') ?? 0) > CASES / 2 && (seen.get('refused by both') ?? 0) > CASES / 5);
  });
});
