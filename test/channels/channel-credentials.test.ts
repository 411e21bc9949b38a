import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { smallVideo } from '../artifacts/unique-clip.ts';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';
import { type MultiAccountUpstream, startMultiAccountUpstream } from './multi-account-upstream.ts';

interface Credential {
  readonly id: number;
  readonly name: string;
  readonly hint: string;
  readonly enabled: boolean;
  readonly condition: string;
  readonly state: string;
  readonly reason: string;
  readonly unfinished_tasks: number;
}
interface Channel {
  readonly condition: string;
  readonly state: string;
  readonly credential_list: readonly Credential[];
  readonly last_errors: readonly { readonly credential_id: number; readonly reason: string }[];
}

const keyOf = (name: string): string => `sk-secret-of-account-${name}`;
const credentials = (name: string) => ({ credentials: { api_key: keyOf(name) } });

describe('several credentials in one channel', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: ChatService;
    let upstream: MultiAccountUpstream;
    const made: number[] = [];
    before(async () => {
      upstream = await startMultiAccountUpstream();
      service = await startChat(await freshUrl(), { channels: 0, overrides: { clock: middayClock } });
    });
    after(async () => {
      await service.stop();
      await upstream.stop();
    });
    beforeEach(async () => {
      upstream.treatment.clear();
      upstream.seen.length = 0;
      for (const id of made.splice(0))
        await service.operator.requestData('PUT', `/api/admin/channels/${id}`, { enabled: false });
    });

    const add = async (names: readonly string[], also: object = {}): Promise<number> => {
      const { id } = await service.operator.requestData<{ id: number }>('POST', '/api/admin/channels', {
        name: 'Pool',
        vendor: 'openai',
        base_url: upstream.url,
        credential_list: names.map(credentials),
        models: ['sandbox-chat'],
        options: { private: true },
        ...also,
      });
      made.push(id);
      return id;
    };
    const get = (id: number) => service.operator.requestData<Channel>('GET', `/api/admin/channels/${id}`);
    const change = (id: number, body: object) => service.operator.requestData('PUT', `/api/admin/channels/${id}`, body);
    const refuse = async (id: number, body: object): Promise<string> => {
      const answer = await service.operator.request('PUT', `/api/admin/channels/${id}`, body);
      assert.equal(answer.success, false, JSON.stringify(body));
      return answer.message ?? '';
    };
    const ask = async (): Promise<number> => (await service.ask('hello')).status;
    const keysSeen = (path = 'chat/completions'): string[] =>
      upstream.seen.filter((line) => line.startsWith(`${path} `)).map((line) => line.slice(line.lastIndexOf('-') + 1));

    it('are created, named, disabled, replaced and removed, and never shown', async () => {
      const id = await add(['a', 'b'], { credential_list: [{ ...credentials('a'), name: 'first' }, credentials('b')] });
      const shown = (await get(id)).credential_list.map(({ id: own, name, hint, enabled }) => ({
        own,
        name,
        hint,
        enabled,
      }));
      assert.deepEqual(shown, [
        { own: 1, name: 'first', hint: '…nt-a', enabled: true },
        { own: 2, name: '', hint: '…nt-b', enabled: true },
      ]);
      await change(id, { credential_list: [{ id: 2, enabled: false }, credentials('c')] });
      assert.deepEqual(
        (await get(id)).credential_list.map(({ id: own, enabled }) => [own, enabled]),
        [
          [2, false],
          [3, true],
        ],
      );
      await change(id, {
        credential_list: [{ id: 2, ...credentials('d'), enabled: true }, { id: 3 }, credentials('a')],
      });
      assert.deepEqual(
        (await get(id)).credential_list.map(({ id: own, hint }) => [own, hint]),
        [
          [2, '…nt-d'],
          [3, '…nt-c'],
          [4, '…nt-a'],
        ],
        'the id of a removed credential is not used again',
      );
      assert.match(await refuse(id, { credential_list: [{ id: 1 }] }), /no credential 1/);
      assert.match(await refuse(id, { credential_list: [{ id: 2 }, { id: 2 }] }), /same credential twice/);
      assert.match(await refuse(id, { credential_list: [{ id: 2 }, credentials('d')] }), /credential twice: …nt-d/);
      assert.match(await refuse(id, { credential_list: [{ name: 'new' }] }), /needs credentials/);
      assert.match(await refuse(id, { credential_list: [{ credentials: { password: 'x' } }] }), /keys .* needs/);
      assert.match(await refuse(id, { ...credentials('e'), credential_list: [{ id: 2 }] }), /either/);
      assert.match(await refuse(id, { credential_list: [] }), /credential_list/);
      await change(id, credentials('d'));
      assert.deepEqual(
        (await get(id)).credential_list.map(({ id: own }) => own),
        [2],
        'the single form keeps what it names',
      );
      await change(id, credentials('f'));
      const [only] = (await get(id)).credential_list;
      assert.deepEqual([only?.id, only?.hint], [2, '…nt-f'], 'and replaces the only one in its place');
      const log = await service.operator.requestData<object[]>('GET', `/api/admin/audit?target=channel:${id}`);
      assert.match(JSON.stringify(log), /"credential_list":\[\{"id":2,"name":"","enabled":false\}/);
      assert.doesNotMatch(JSON.stringify([log, await get(id)]), /secret-of-account/);
    });

    it('are stored without what is pasted with them, and refused where no request could carry them', async () => {
      const key = keyOf('a');
      const keys = [`\ufeff ${key}\r\n`, `${key}\u200b`, `Bearer ${key}`, `bearer  ${key} `];
      for (const api_key of keys) {
        const id = await add([], { credential_list: undefined, credentials: { api_key } });
        assert.equal(await ask(), 200);
        assert.equal(upstream.seen.at(-1), `chat/completions ${key}`, JSON.stringify(api_key));
        const twice = [{ id: 1 }, ...keys.map((each) => ({ credentials: { api_key: each } }))];
        assert.match(await refuse(id, { credential_list: twice }), /same credential twice/);
        await change(id, { enabled: false });
      }
      const id = await add(['a']);
      for (const api_key of [`${key}\n${keyOf('b')}`, 'sk-a…bc', 'sk-ａ'])
        assert.match(await refuse(id, { credentials: { api_key } }), /characters that no key has/);
      for (const api_key of [' ', '\u200b'])
        assert.match(await refuse(id, { credentials: { api_key } }), /keys .* needs/, api_key);
    });

    it('one that is rejected or rate limited rests alone; calls continue with the others, and administrators are notified', async () => {
      const id = await add(['a', 'b', 'c']);
      upstream.treatment.set(keyOf('a'), 401).set(keyOf('b'), 403);
      for (let call = 0; call < 12; call++) assert.equal(await ask(), 200);
      const { condition, state, credential_list: list, last_errors: errors } = await get(id);
      assert.deepEqual([condition, state], ['working', 'healthy'], 'as healthy as its best credential');
      assert.deepEqual(
        list.map((each) => [each.condition, each.reason]),
        [
          ['resting', 'auth'],
          ['resting', 'billing'],
          ['working', ''],
        ],
      );
      assert.deepEqual(
        new Set(errors.map((each) => `${each.credential_id} ${each.reason}`)),
        new Set(['1 auth', '2 billing']),
      );
      assert.equal(keysSeen().filter((key) => key === 'a').length, 1, 'one refusal puts it aside');
      assert.equal(keysSeen().filter((key) => key === 'b').length, 1);
      const { data: notices } = (await service.operator.request<{ title: string; content: string }[]>(
        'GET',
        '/api/notifications?page_size=50',
      )) as { data: { title: string; content: string }[] };
      const texts = notices.map(({ title, content }) => `${title}: ${content}`).filter((text) => text.includes('Pool'));
      assert.equal(texts.length, 2, JSON.stringify(notices));
      assert.ok(texts.some((text) => /A credential of channel “Pool” is paused.*nt-a/s.test(text)));
      assert.doesNotMatch(JSON.stringify(notices), /secret-of-account/);
      upstream.treatment.delete(keyOf('a'));
      const test = await service.operator.requestData<{ ok: boolean }>(
        'POST',
        `/api/admin/channels/${id}/test?credential_id=1`,
      );
      assert.equal(test.ok, true);
      assert.equal((await get(id)).credential_list[0]?.condition, 'working', 'a test that works brings it back');
      await service.operator
        .request('POST', `/api/admin/channels/${id}/test?credential_id=99`)
        .then(({ success }) => assert.equal(success, false));
    });

    it('a call that meets a rate-limited key is answered with the next one', async () => {
      await add(['a', 'b']);
      upstream.treatment.set(keyOf('a'), 429);
      for (let call = 0; call < 10; call++) assert.equal(await ask(), 200);
      const seen = keysSeen();
      assert.equal(seen.filter((key) => key === 'b').length, 10);
      assert.ok(seen.includes('a'));
    });

    it('a channel rests when all its keys do, and a failing pool leaves an attempt to another channel', async () => {
      const pool = await add(['a', 'b', 'c', 'd', 'e'], { priority: 5 });
      for (const name of ['a', 'b', 'c', 'd', 'e']) upstream.treatment.set(keyOf(name), 503);
      assert.notEqual(await ask(), 200);
      const other = await add(['z'], { priority: 1 });
      assert.equal(await ask(), 200);
      assert.equal(keysSeen().at(-1), 'z');
      await change(other, { enabled: false });
      for (const name of ['a', 'b', 'c', 'd', 'e']) upstream.treatment.set(keyOf(name), 401);
      for (let call = 0; call < 3; call++) assert.notEqual(await ask(), 200);
      const { condition, credential_list: list } = await get(pool);
      assert.deepEqual([condition, ...list.map((each) => each.condition)], Array(6).fill('resting'));
      await service.waitUntilSettled();
      assert.deepEqual(await auditLedger(service.app.database), []);
    });

    it('a video is polled, downloaded and looked up with the credential that submitted it, whatever happened to the others', async () => {
      const id = await add(['a', 'b'], { vendor: 'sora', models: ['sora-2'] });
      upstream.finished = false;
      const submit = async (): Promise<string> => {
        const { status, body: json } = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/videos', {
          model: 'sora-2',
          prompt: 'a cat',
        });
        assert.equal(status, 200, JSON.stringify(json));
        return String(json.id);
      };
      upstream.treatment.set(keyOf('b'), 401);
      const byFirst = await submit();
      upstream.treatment.set(keyOf('a'), 401).delete(keyOf('b'));
      // Changing the channel resets everything learned about its keys, so both are tried again.
      await change(id, { priority: 3 });
      const bySecond = await submit();
      const { kysely } = service.app.database;
      const pinned = async () =>
        (await kysely.selectFrom('tasks').select(['public_id', 'credential_id']).orderBy('seq').execute()).map(
          (task) => [task.public_id, task.credential_id],
        );
      assert.deepEqual(await pinned(), [
        [byFirst, 1],
        [bySecond, 2],
      ]);
      const refused = await kysely
        .selectFrom('task_attempts')
        .innerJoin('tasks', 'tasks.id', 'task_attempts.task_id')
        .select(['public_id', 'task_attempts.credential_id'])
        .execute();
      for (const attempt of refused)
        assert.equal(attempt.credential_id, attempt.public_id === byFirst ? 2 : 1, 'the other one was refused');
      assert.match(await refuse(id, { credential_list: [{ id: 2 }] }), /unfinished tasks/);
      assert.match(await refuse(id, credentials('x')), /unfinished tasks/);
      assert.deepEqual(
        (await get(id)).credential_list.map((each) => each.unfinished_tasks),
        [1, 1],
      );
      await change(id, { credential_list: [{ id: 1, enabled: false }, { id: 2 }] });
      upstream.finished = true;
      const api = (path: string) => callModelApi(service.baseUrl, service.key, 'GET', path);
      for (const task of [byFirst, bySecond])
        for (let tries = 0; ; tries++) {
          const { body: json } = await api(`/v1/videos/${task}`);
          if (json.status === 'completed') break;
          assert.ok(tries < 400, JSON.stringify(json));
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      const content = async (task: string): Promise<string> => {
        const headers = { authorization: `Bearer ${service.key}` };
        return (await fetch(`${service.baseUrl}/v1/videos/${task}/content`, { headers })).text();
      };
      assert.deepEqual(
        [await content(byFirst), await content(bySecond)],
        [keyOf('a'), keyOf('b')].map((key) => smallVideo(key).toString()),
      );
      assert.ok(
        upstream.seen.every((line) => !/^videos\/video/.test(line) || line.endsWith('-a') || line.endsWith('-b')),
      );
      await change(id, { credential_list: [{ id: 2 }] });
      assert.deepEqual(
        (await get(id)).credential_list.map((each) => each.id),
        [2],
      );
      assert.deepEqual(await auditLedger(service.app.database), []);
    });
  });
});
