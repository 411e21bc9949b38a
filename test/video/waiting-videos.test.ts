import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, makeApp } from '../../src/server/app.ts';
import type { ModelLifecycles } from '../../src/server/channels/retirements.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { type SoraUpstream, startSoraUpstream } from '../channels/sora-upstream.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService, testEnvironment } from '../service-with-sandbox.ts';

const codeOf = ({ body }: { readonly body: unknown }): string => (body as Video).error?.code ?? '';

interface Video {
  readonly id: string;
  readonly status: string;
  readonly error?: { readonly code: string };
  readonly queue?: { readonly position: number; readonly starts_in_seconds: { p50: number; p90: number } };
}

describe('videos that wait for a slot', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: SandboxService;
    let upstream: SoraUpstream;
    let second: App | undefined;
    let bases: readonly string[];
    let prompts: string[];
    const made: number[] = [];
    /** Models that their vendor has ended, read again after each change of their channel. */
    const ended = new Set<string>();
    const source = { source: 'https://vendor.example', confirmedOn: '2026-01-01', checkedOn: '2026-01-01' };
    const lifecycles: ModelLifecycles = {
      hostOf: () => 'vendor.example',
      of: (_vendor, model) =>
        ended.has(model) ? [{ ...source, route: 'vendor.example', stage: 'retired', retiresOn: '2026-01-02' }] : [],
    };
    before(async () => {
      const url = await freshUrl();
      service = await startSandboxService(url, { sandbox: { simulators: [] }, overrides: { lifecycles } });
      bases = [service.baseUrl];
      // SQLite serves a single process.
      if (name === 'postgres') {
        second = await makeApp(parseConfig(testEnvironment(url)), { log: openLog('silent'), lifecycles });
        bases = [service.baseUrl, `http://127.0.0.1:${(await second.listen()).port}`];
      }
      await service.operator.grantQuota(1_000_000_000_000);
    });
    beforeEach(async () => {
      upstream = await startSoraUpstream();
      prompts = [];
      upstream.beforeSubmit = async (body) => {
        prompts.push(/"prompt":"([^"]*)"/.exec(body)?.[1] ?? /name="prompt"\s+([^\r]*)/.exec(body)?.[1] ?? '');
        return undefined;
      };
    });
    afterEach(async () => {
      upstream.finishes = true;
      await until(async () => (await unfinished()) === 0);
      for (const id of made.splice(0))
        await service.operator.requestData('PUT', `/api/admin/channels/${id}`, { enabled: false });
      await upstream.stop();
    });
    after(async () => {
      await assertLedgerConsistent(service.app.database);
      await second?.close(1_000);
      await service.stop();
    });

    const until = async (isDone: () => Promise<boolean> | boolean): Promise<void> => {
      for (let tries = 0; tries < 1_200; tries++) {
        if (await isDone()) return;
        await pause(50);
      }
      assert.fail('it did not happen within a minute');
    };
    const add = async (most?: number, account = 'one'): Promise<number> => {
      const id = await service.operator.addChannel({
        vendor: 'sora',
        name: account,
        base_url: upstream.url,
        credentials: { api_key: account },
        models: ['sora-2'],
        max_concurrent_tasks: most ?? null,
        options: { private: true },
      });
      made.push(id);
      return id;
    };
    const submit = async (key: string, prompt: string, body: object = {}, index = 0) => {
      const base = bases[index % bases.length] as string;
      const answer = await callModelApi(base, key, 'POST', '/v1/videos', { model: 'sora-2', prompt, ...body });
      return { ...answer, video: answer.body as unknown as Video };
    };
    const read = async (key: string, id: string) =>
      (await callModelApi(service.baseUrl, key, 'GET', `/v1/videos/${id}`)).body as unknown as Video;
    const unfinished = async (): Promise<number> => {
      const { count } = await service.app.database.kysely
        .selectFrom('tasks')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('status', 'not in', ['SUCCESS', 'FAILURE'])
        .executeTakeFirstOrThrow();
      return Number(count);
    };

    it('start in order as places become free, never more at once than the channel takes', async () => {
      await add(2);
      const key = await service.operator.makeToken();
      const answers = [];
      for (let index = 0; index < 9; index++) answers.push(await submit(key, `video ${index}`, {}, index));
      assert.deepEqual(
        answers.map(({ status }) => status),
        Array.from({ length: 9 }, () => 200),
      );
      const waiting = answers.slice(2).map(({ video }) => video);
      assert.deepEqual(
        waiting.map(({ status }) => status),
        Array.from({ length: 7 }, () => 'queued'),
      );
      assert.equal(waiting[0]?.queue?.position, 1);
      const last = await read(key, waiting[6]?.id ?? '');
      assert.deepEqual([last.status, last.queue?.position], ['queued', 7]);
      const { p50 = 0, p90 = 0 } = last.queue?.starts_in_seconds ?? {};
      assert.ok(p50 > 0 && p90 >= p50, `${p50} ${p90}`);
      assert.equal(upstream.begun('one'), 2);
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 9);
      assert.equal(upstream.mostUnfinished('one'), 2);
      // Two that start at once may overtake each other on the way.
      const places = prompts.map((prompt, index) => Math.abs(Number(prompt.slice(6)) - index));
      assert.ok(Math.max(...places) < 2, prompts.join());
      await until(async () => (await read(key, waiting[6]?.id ?? '')).status === 'completed');
      assert.equal((await read(key, waiting[6]?.id ?? '')).queue, undefined);
    });

    it('are not failed by a process that learns too late that its submit was refused', async () => {
      await add(1);
      const { kysely } = service.app.database;
      upstream.beforeSubmit = async (body) => {
        if (!body.includes('overtaken')) return undefined;
        // Another process has taken this one for dead and lets the video wait again.
        await kysely
          .updateTable('tasks')
          .set(({ eb }) => ({ attempt: eb('attempt', '+', 1) }))
          .where('prompt', '=', 'overtaken')
          .execute();
        return 400;
      };
      const key = await service.operator.makeToken();
      for (const prompt of ['first', 'overtaken']) assert.equal((await submit(key, prompt)).status, 200);
      upstream.finishes = true;
      const { id } = await kysely
        .selectFrom('tasks')
        .select('id')
        .where('prompt', '=', 'overtaken')
        .executeTakeFirstOrThrow();
      await until(
        async () =>
          (await kysely.selectFrom('task_attempts').select('outcome').where('task_id', '=', id).execute()).length > 0,
      );
      await pause(1_000);
      const { status } = await kysely
        .selectFrom('tasks')
        .select('status')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      const request = await kysely.selectFrom('queued_requests').select('part').where('task_id', '=', id).execute();
      assert.deepEqual([status, request.length > 0], ['NOT_START', true]);
      await kysely.updateTable('tasks').set({ submit_time: 1, next_poll_at: 1 }).where('id', '=', id).execute();
    });

    it('wait for a slot of their key and of their account', async () => {
      await add();
      const limited = await service.operator.makeToken({ concurrent_tasks: 1 });
      const first = await submit(limited, 'a');
      const second_ = await submit(limited, 'b');
      assert.equal(first.video.queue, undefined);
      assert.equal(second_.video.queue?.position, 1);
      const { id } = await service.operator.requestData<{ id: number; quota: number }>('GET', '/api/user/self');
      const set = (limits: object) => service.operator.requestData('PUT', `/api/admin/users/${id}`, limits);
      await set({ concurrent_tasks: 2 });
      const other = await service.operator.makeToken();
      const third = await submit(other, 'c');
      const fourth = await submit(other, 'd');
      assert.equal(third.video.queue?.position, undefined);
      // Behind "b" if that was tried again meanwhile, since the account has no slot for it either.
      assert.match(String(fourth.video.queue?.position), /^[12]$/);
      await set({ concurrent_tasks: null });
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 4);
    });

    it('are refused with queue: false, and beyond the number that may wait', async () => {
      await add(1);
      const key = await service.operator.makeToken({ queued_tasks: 1 });
      await submit(key, 'a');
      const refused = await submit(key, 'b', { queue: false });
      assert.deepEqual([refused.status, codeOf(refused)], [503, 'upstream_unavailable']);
      assert.equal((await submit(key, 'c')).video.queue?.position, 1);
      const full = await submit(key, 'd');
      assert.deepEqual([full.status, codeOf(full)], [429, 'queue_full']);
      assert.ok(Number(full.headers.get('retry-after')) > 0);
    });

    it('never exceed the number that may wait, however many are submitted at once', async () => {
      await add(1);
      const { id } = await service.operator.requestData<{ id: number }>('GET', '/api/user/self');
      const limit = (queued: number | null) =>
        service.operator.requestData('PUT', `/api/admin/users/${id}`, { queued_tasks: queued });
      await limit(2);
      const key = await service.operator.makeToken();
      await submit(key, 'running');
      const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => submit(key, `parallel ${index}`)));
      const full = answers.filter((answer) => answer.status === 429);
      assert.deepEqual([full.length, [...new Set(full.map(codeOf))]], [6, ['queue_full']]);
      await limit(null);
    });

    it('are cancelled with a full refund, in every way; others are not', async () => {
      await add(1);
      const key = await service.operator.makeToken();
      const running = await submit(key, 'a');
      const balance = async () =>
        Number((await service.operator.requestData<{ id: number; quota: number }>('GET', '/api/user/self')).quota);
      const before = await balance();
      const [one, two, three] = [await submit(key, 'b'), await submit(key, 'c'), await submit(key, 'd')];
      assert.ok((await balance()) < before);
      const waiting = await service.operator.requestData<object[]>('GET', '/api/admin/tasks/waiting');
      const oldest = (waiting[0] as { oldest_time: number } | undefined)?.oldest_time ?? 0;
      assert.ok(Math.abs(oldest - Date.now() / 1_000) < 60);
      const row = { model: 'sora-2', waits_for: 'channel', channel_ids: made.slice(-1), count: 3, oldest_time: oldest };
      assert.deepEqual(waiting, [row]);
      const listed = await service.operator.requestData<Video[]>(
        'GET',
        '/api/admin/tasks?status=NOT_START&page_size=1',
      );
      assert.equal(listed[0]?.queue?.position, 3);
      const open = await service.operator.requestData<Video[]>('GET', '/api/admin/tasks?unfinished=true');
      assert.deepEqual(
        open.map(({ queue }) => queue?.position),
        [3, 2, 1, undefined],
      );
      const shown = await service.operator.requestData<Video>('GET', `/api/admin/tasks/${two.video.id}`);
      assert.equal(shown.queue?.position, 2);
      const cancelled = await callModelApi(service.baseUrl, key, 'POST', `/v1/videos/${one.video.id}/cancel`, {});
      assert.equal(cancelled.status, 200);
      assert.deepEqual((cancelled.body as unknown as Video).error?.code, 'cancelled');
      assert.equal((await callModelApi(service.baseUrl, key, 'DELETE', `/v1/videos/${two.video.id}`)).status, 200);
      assert.deepEqual((await read(key, two.video.id)).error?.code, 'cancelled');
      await service.operator.requestData('POST', `/api/videos/${three.video.id}/cancel`);
      assert.equal((await read(key, three.video.id)).error?.code, 'cancelled');
      assert.equal(await balance(), before);
      const tooLate = await service.operator.request('POST', `/api/videos/${running.video.id}/cancel`);
      assert.equal(tooLate.success, false);
      const late = await callModelApi(service.baseUrl, key, 'POST', `/v1/videos/${running.video.id}/cancel`, {});
      assert.equal(late.status, 409);
      upstream.finishes = true;
      await until(async () => (await read(key, running.video.id)).status === 'completed');
      assert.equal(upstream.begun('one'), 1);
    });

    it('start in turn with those of other accounts, however many one of them has', async () => {
      await add(1);
      const key = await service.operator.makeToken();
      await submit(key, 'running');
      for (let index = 0; index < 4; index++) await submit(key, `mine ${index}`);
      const login = { username: `other-${name}`, password: 'a-long-password-1' };
      await service.operator.requestData('POST', '/api/admin/users', { ...login, quota: 1_000_000_000 });
      const otherKey = await (await new AdminClient(service.baseUrl).signIn(login)).makeToken();
      for (let index = 0; index < 2; index++) await submit(otherKey, `theirs ${index}`);
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 7);
      assert.deepEqual(prompts, ['running', 'mine 0', 'theirs 0', 'mine 1', 'theirs 1', 'mine 2', 'mine 3']);
    });

    it('of a vendor that is stuck hold up no other model', async () => {
      await add(1);
      const other = await startSoraUpstream();
      other.finishes = true;
      const channel = { vendor: 'sora', name: 'other', base_url: other.url, credentials: { api_key: 'two' } };
      const fields = { models: ['sora-2-pro'], max_concurrent_tasks: 1, options: { private: true } };
      made.push(await service.operator.addChannel({ ...channel, ...fields }));
      const key = await service.operator.makeToken();
      for (let index = 0; index < 5; index++) await submit(key, `stuck ${index}`);
      for (let index = 0; index < 6; index++) await submit(key, `free ${index}`, { model: 'sora-2-pro' }, index);
      await until(async () => other.begun('two') === 6 && (await unfinished()) === 5);
      assert.deepEqual([upstream.begun('one'), other.mostUnfinished('two')], [1, 1]);
      await other.stop();
    });

    it('that no channel serves any more hold up no video behind them', async () => {
      const id = await add(1);
      const models = (names: readonly string[]) =>
        service.operator.requestData('PUT', `/api/admin/channels/${id}`, { models: names });
      await models(['sora-2', 'sora-2-pro']);
      const key = await service.operator.makeToken();
      await submit(key, 'running');
      const unserved = await Promise.all([1, 2].map((index) => submit(key, `unserved ${index}`)));
      await submit(key, 'served', { model: 'sora-2-pro' });
      await models(['sora-2-pro']);
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 2);
      assert.deepEqual(prompts, ['running', 'served']);
      await until(async () => (await unfinished()) === 2);
      const atOnce = await submit(key, 'at once', { model: 'sora-2-pro', queue: false });
      assert.deepEqual([atOnce.status, atOnce.video.queue], [200, undefined]);
      await until(async () => (await unfinished()) === 2);
      await models(['sora-2']);
      await until(() => upstream.begun('one') === 5);
      for (const { video } of unserved) await until(async () => (await read(key, video.id)).status === 'completed');
    });

    it('of a model that its vendor has ended are refunded and hold up no video behind them', async () => {
      const id = await add(1);
      const models = (names: readonly string[]) =>
        service.operator.requestData('PUT', `/api/admin/channels/${id}`, { models: names });
      await models(['sora-2', 'sora-2-pro']);
      const key = await service.operator.makeToken();
      await submit(key, 'running', { model: 'sora-2-pro' });
      const { video } = await submit(key, 'ended');
      await submit(key, 'served', { model: 'sora-2-pro' });
      ended.add('sora-2');
      await models(['sora-2-pro', 'sora-2']);
      await until(async () => {
        const seen = await read(key, video.id);
        assert.equal(seen.id, video.id);
        return seen.error?.code === 'model_not_found';
      });
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 2);
      await until(async () => (await unfinished()) === 0);
      assert.deepEqual(prompts, ['running', 'served']);
      ended.clear();
    });

    it('of a disabled account do not start until it is enabled again, and hold up nobody', async () => {
      await add(1);
      const login = { username: `disabled-${name}`, password: 'a-long-password-1' };
      const { id } = await service.operator.requestData<{ id: number }>('POST', '/api/admin/users', {
        ...login,
        quota: 1_000_000_000,
      });
      const theirs = await (await new AdminClient(service.baseUrl).signIn(login)).makeToken();
      const key = await service.operator.makeToken();
      await submit(key, 'running');
      await submit(theirs, 'theirs');
      await submit(key, 'mine');
      await service.operator.requestData('PUT', `/api/admin/users/${id}`, { status: 2 });
      upstream.finishes = true;
      await until(() => upstream.begun('one') === 2);
      await until(async () => (await unfinished()) === 1);
      await pause(2_000);
      assert.deepEqual(prompts, ['running', 'mine']);
      await service.operator.requestData('PUT', `/api/admin/users/${id}`, { status: 1 });
      await until(() => upstream.begun('one') === 3);
    });

    it('of a revoked key are cancelled with a refund, not sent', async () => {
      await add(1);
      const [key, leaked] = [await service.operator.makeToken(), await service.operator.makeToken()];
      await submit(key, 'running');
      const { video } = await submit(leaked, 'leaked');
      await submit(key, 'mine');
      const rows = service.app.database.kysely.selectFrom('tasks').where('public_id', '=', video.id);
      const { id, token_id } = await rows.select(['id', 'token_id']).executeTakeFirstOrThrow();
      await service.operator.requestData('DELETE', `/api/tokens/${token_id}`);
      upstream.finishes = true;
      await until(async () => (await unfinished()) === 0);
      assert.deepEqual(prompts, ['running', 'mine']);
      const { kysely } = service.app.database;
      const entries = await kysely.selectFrom('ledger').select('kind').where('ref', '=', id).orderBy('id').execute();
      assert.deepEqual(
        entries.map(({ kind }) => kind),
        ['reserve', 'refund'],
      );
    });

    it('wait again if the vendor has no room after all', async () => {
      await add(1);
      const key = await service.operator.makeToken();
      await submit(key, 'a');
      const { video } = await submit(key, 'b');
      let refusals = 0;
      upstream.beforeSubmit = async () => (refusals++ === 0 ? 429 : undefined);
      upstream.finishes = true;
      await until(() => refusals === 1);
      await until(async () => (await read(key, video.id)).queue !== undefined);
      assert.equal((await read(key, video.id)).status, 'queued');
      await service.app.database.kysely.updateTable('queued_tasks').set({ not_before: 0 }).execute();
      await until(async () => (await read(key, video.id)).status === 'completed');
    });
  });
});
