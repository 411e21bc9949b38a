import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ChannelLoad, MIN_BOUND } from '../channels/selection.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  EMBEDDINGS_DIALECT,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from './dialects.ts';
import { cacheAffinityKey, parseChatRequest } from './request.ts';

const parse = (dialect: Dialect, body: object) => parseChatRequest(dialect, Buffer.from(JSON.stringify(body)), body);
const affinityOf = (dialect: Dialect, body: object) => cacheAffinityKey(parse(dialect, { model: 'm', ...body }));
const FLEET = [1, 2, 3].map((id) => ({ id, credentialId: 0, priority: 0, weight: 1 }));
const channelFor = (key: string | undefined, fleet = FLEET, load = new ChannelLoad()): number =>
  load.orderFor(key ?? '', fleet)[0]?.id ?? 0;
const long = (text: string): string => `${text} `.repeat(250);
const user = (content: unknown) => ({ role: 'user', content });

interface Turn {
  readonly at: number;
  /** Cacheable prefixes from the shortest to the longest, and their tokens. */
  readonly prefixes: readonly string[];
  readonly key: string | undefined;
}

/**
 * Picks channels for calls that each last `seconds`, and records how many were in flight on the busiest channel, as a
 * multiple of its share.
 */
function loadedFleet(seconds: number) {
  const load = new ChannelLoad();
  let inFlight: { readonly id: number; readonly until: number }[] = [];
  let worst = 0;
  return {
    worst: () => worst,
    pick: ({ at, key }: Turn): number => {
      for (const { id, until } of inFlight) if (until <= at) load.ended({ id, credentialId: 0 });
      inFlight = inFlight.filter(({ until }) => until > at);
      const id = channelFor(key, FLEET, load);
      load.began({ id, credentialId: 0 });
      inFlight.push({ id, until: at + seconds });
      const calls = inFlight.filter((call) => call.id === id).length;
      if (calls > MIN_BOUND) worst = Math.max(worst, calls / Math.ceil(inFlight.length / FLEET.length));
      return id;
    },
  };
}

/** Conversations of six turns a minute apart, one starting `everySeconds`; `systems` prompts are shared among them. */
function conversations(
  count: number,
  everySeconds: number,
  systems: number,
  keyOf: (system: string, said: readonly string[]) => string | undefined,
): Turn[] {
  const turns: Turn[] = [];
  for (let conversation = 0; conversation < count; conversation++) {
    const system = long(`You are assistant ${conversation % systems}.`);
    const said: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      said.push(long(`question ${conversation} ${turn}`));
      const prefixes = said.map((_, index) => system + said.slice(0, index + 1).join(''));
      const at = conversation * everySeconds + turn * 60;
      turns.push({ at, prefixes: [system, ...prefixes], key: keyOf(system, said) });
    }
  }
  return turns.sort((a, b) => a.at - b.at);
}

/**
 * Tokens read from the caches of a fleet, each kept for five
 * minutes after its last use, as a share of the cacheable tokens.
 */
function hitRate(turns: readonly Turn[], pick: (turn: Turn) => number): number {
  const caches = new Map<string, number>();
  let read = 0;
  let all = 0;
  for (const turn of turns) {
    const channel = pick(turn);
    const hit = turn.prefixes.findLast(
      (prefix) => (caches.get(`${channel}:${prefix}`) ?? Number.NEGATIVE_INFINITY) > turn.at,
    );
    read += hit?.length ?? 0;
    all += turn.prefixes.at(-1)?.length ?? 0;
    for (const prefix of turn.prefixes) caches.set(`${channel}:${prefix}`, turn.at + 300);
  }
  return read / all;
}

describe('prompt cache affinity', () => {
  test('a fleet of three hits its caches nearly as often as one channel, in each dialect', () => {
    const dialects = {
      messages: (system: string, said: readonly string[]) =>
        affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system, messages: said.map(user) }),
      chat: (system: string, said: readonly string[]) =>
        affinityOf(CHAT_DIALECT, { messages: [{ role: 'system', content: system }, ...said.map(user)] }),
      responses: (system: string, said: readonly string[]) =>
        affinityOf(RESPONSES_DIALECT, { instructions: system, input: said.map(user) }),
      gemini: (system: string, said: readonly string[]) =>
        affinityOf(GEMINI_DIALECT, {
          systemInstruction: { parts: [{ text: system }] },
          contents: said.map((text) => ({ role: 'user', parts: [{ text }] })),
        }),
    };
    for (const [name, keyOf] of Object.entries(dialects)) {
      const turns = conversations(120, 20, 20, keyOf);
      const one = hitRate(turns, () => 1);
      const fleet = hitRate(turns, ({ key }) => channelFor(key));
      let count = 0;
      const turnByTurn = hitRate(turns, () => count++ % 3);
      assert.ok(fleet >= 0.9 * one, `${name}: ${fleet} of ${one}`);
      assert.ok(turnByTurn < 0.9 * one, `${name}: the measure tells a fleet without affinity: ${turnByTurn} of ${one}`);
      assert.equal(new Set(turns.map(({ key }) => channelFor(key))).size, 3, 'all channels have their share');
    }
  });

  test('under load no channel gets much more than its share, and the caches are still hit', () => {
    const keyOf = (system: string, said: readonly string[]) =>
      affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system, messages: said.map(user) });
    const turns = conversations(400, 2, 20, keyOf);
    const one = hitRate(turns, () => 1);
    const fleet = loadedFleet(15);
    const hits = hitRate(turns, fleet.pick);
    assert.ok(hits >= 0.9 * one, `${hits} of ${one}`);
    assert.ok(fleet.worst() > 1 && fleet.worst() <= 1.5, `${fleet.worst()} times its share`);
  });

  test('a prefix shared by all calls is spread over as many channels as the calls need', () => {
    const load = new ChannelLoad();
    const counts = [0, 0, 0, 0];
    for (let call = 0; call < 300; call++) {
      const id = channelFor('shared', FLEET, load);
      load.began({ id, credentialId: 0 });
      counts[id] = (counts[id] ?? 0) + 1;
    }
    assert.ok(Math.max(...counts) <= Math.ceil(1.25 * 100), `${counts}`);
    for (const [id, count] of counts.entries())
      for (let call = 0; call < count; call++) load.ended({ id, credentialId: 0 });
    assert.equal(channelFor('shared', FLEET, load), channelFor('shared'), 'when they have ended it goes home again');
  });

  test('only the calls of an unavailable channel move, and they return once it is available', () => {
    const keys = Array.from({ length: 300 }, (_, index) => `key ${index}`);
    const alive = FLEET.filter(({ id }) => id !== 2);
    for (const key of keys) {
      const before = channelFor(key);
      if (before !== 2) assert.equal(channelFor(key, alive), before);
    }
    const share = keys.filter((key) => channelFor(key) === 2).length / keys.length;
    assert.ok(share > 0.23 && share < 0.44, `${share}`);
  });

  test('a caller that groups its calls itself is respected; calls without a cacheable prefix use any channel', () => {
    const grouped = { prompt_cache_key: 'session' };
    assert.equal(
      affinityOf(RESPONSES_DIALECT, { ...grouped, input: 'a' }),
      affinityOf(RESPONSES_DIALECT, { ...grouped, input: long('other') }),
    );
    assert.equal(affinityOf(CHAT_DIALECT, { messages: [user('short')] }), undefined);
    assert.equal(affinityOf(EMBEDDINGS_DIALECT, { input: long('x') }), undefined);
  });

  test('moving cache markers and notes that differ between calls do not change the key', () => {
    const text = long('You are a very brief one.');
    const marked = { type: 'text', text, cache_control: { type: 'ephemeral' } };
    const note = (cch: number) => ({ type: 'text', text: `x-anthropic-billing-header: cch=${cch}` });
    assert.equal(
      affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system: [note(1), marked], messages: [user('a')] }),
      affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system: [note(2), { type: 'text', text }], messages: [user('b')] }),
    );
    const tools = [{ name: 'one', input_schema: {} }];
    assert.notEqual(
      affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system: text, messages: [user('a')] }),
      affinityOf(ANTHROPIC_MESSAGES_DIALECT, { system: text, messages: [user('a')], tools }),
    );
  });
});
