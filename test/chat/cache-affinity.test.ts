import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ChatService } from './chat-fixture.ts';
import { SCRIPTED_KEY, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const long = (text: string): string => `${text} `.repeat(300);
const USAGE = { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 0 };

/** Each channel is a separate upstream account with its own prompt cache. */
describe('prompt caches over three channels', { concurrency: false }, () => {
  let service: ChatService;
  const upstreams: ScriptedUpstream[] = [];
  before(async () => {
    const first = await startScriptedChat(['claude'], { vendor: 'anthropic' });
    service = first.service;
    upstreams.push(first.upstream);
    for (const _ of [2, 3]) {
      const upstream = await startScriptedUpstream();
      upstreams.push(upstream);
      await service.operator.addChannel({
        vendor: 'anthropic',
        base_url: upstream.url,
        credentials: { api_key: SCRIPTED_KEY },
        models: ['claude'],
      });
    }
    for (const upstream of upstreams) answer(upstream);
  });
  after(async () => {
    await service.stop();
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  });

  const answer = (upstream: ScriptedUpstream): void =>
    upstream.respondWith((response) =>
      response.end(JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'ok' }], usage: USAGE })),
    );
  const ask = async (conversation: number, turn: number) => {
    const said = Array.from({ length: 2 * turn + 1 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `said ${index}`,
    }));
    const text = long(`You are assistant ${conversation}.`);
    const system = [{ type: 'text', text, cache_control: { type: 'ephemeral' } }];
    const response = await fetch(`${service.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'claude', max_tokens: 10, system, messages: said }),
    });
    assert.equal(response.status, 200);
  };
  /** Indexes of the upstreams that received each conversation. */
  const hearers = (): Map<string, Set<number>> => {
    const found = new Map<string, Set<number>>();
    for (const [index, { requests }] of upstreams.entries())
      for (const { body } of requests) {
        const name = /You are assistant \d+/.exec(body)?.[0] ?? '';
        found.set(name, (found.get(name) ?? new Set()).add(index));
      }
    return found;
  };
  const CONVERSATIONS = Array.from({ length: 15 }, (_, index) => index);

  test('a conversation stays on the channel that cached its prefix; if that channel fails, its conversations move to one other', async () => {
    for (const turn of [0, 1, 2]) for (const conversation of CONVERSATIONS) await ask(conversation, turn);
    const before = hearers();
    assert.ok([...before.values()].every(({ size }) => size === 1));
    assert.ok(new Set([...before.values()].flatMap((set) => [...set])).size > 1, 'more than one channel is used');

    upstreams[0]?.respondWith((response) => response.writeHead(529).end('{}'));
    for (const { requests } of upstreams) requests.splice(0);
    for (const turn of [3, 4, 5]) for (const conversation of CONVERSATIONS) await ask(conversation, turn);
    const since = hearers();
    for (const [name, [served]] of before) {
      const others = [...(since.get(name) ?? [])].filter((index) => index !== 0);
      assert.equal(others.length, 1, `${name} has one new channel`);
      if (served !== 0) assert.equal(others[0], served, `${name} stays`);
    }
  });
});
