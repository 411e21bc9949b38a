import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import OpenAI, { toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { AdminClient } from '../admin-client.ts';
import { type SoraUpstream, startSoraUpstream } from '../channels/sora-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

/** A line of an output or error file. */
interface OutputLine {
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly body: { readonly [name: string]: unknown; readonly error?: { readonly code: string } };
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

type Own = Batch & { readonly budget: number | null; readonly spent: number; readonly paused_at: number | null };

describe('batches', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let upstream: SoraUpstream;
    /** Serves `held-chat`, whose calls with the prompt `hold` wait for `released`. */
    let holding: ScriptedUpstream;
    let released: PromiseWithResolvers<void>;
    let folder: string;
    let channel: number;
    let openai: OpenAI;
    let stranger: OpenAI;
    let price: number;
    /** Prompts of the videos that reached the vendor. */
    let submitted: string[];
    /** The status with which the vendor refuses bad prompts. */
    let refusal: number | undefined;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-batches-'));
      upstream = await startSoraUpstream();
      service = await startSandboxService(await freshUrl(), {
        env: { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' },
      });
      channel = await service.operator.addChannel({
        vendor: 'sora',
        name: 'videos',
        base_url: upstream.url,
        credentials: { api_key: 'one' },
        models: ['sora-2'],
        options: { private: true },
      });
      const rates = { input_per_million: 1_000_000, output_per_million: 4_000_000 };
      for (const id of ['sandbox-chat', 'sandbox-embedding'])
        await service.operator.requestData('POST', '/api/admin/models', {
          id,
          kind: 'chat',
          vendor: 'openai',
          price: rates,
        });
      await service.addChannel('openai', ['sandbox-chat', 'sandbox-embedding']);
      holding = await startScriptedUpstream();
      holding.respondWith(async (response, { body }) => {
        if (body.includes('"hold"')) await released.promise;
        const text = JSON.stringify(ANSWER);
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(body.includes('"separators"') ? text.replace('yes', 'a\u2028b\u2029c\u0085d') : text);
      });
      await service.operator.requestData('POST', '/api/admin/models', {
        id: 'held-chat',
        kind: 'chat',
        vendor: 'openai',
        price: rates,
      });
      await service.operator.addChannel({
        vendor: 'openai',
        base_url: holding.url,
        credentials: { api_key: 'one' },
        models: ['held-chat'],
        options: { private: true },
      });
      await service.operator.grantQuota(1_000_000_000_000);
      const clientOf = async () =>
        new OpenAI({ apiKey: await service.operator.makeToken(), baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
      openai = await clientOf();
      stranger = await strangerOf(service);
      price = await service.operator
        .requestData<{ quota: number }>('POST', '/api/videos/quote', { model: 'sora-2', prompt: 'a', seconds: '4' })
        .then(({ quota }) => quota);
    });
    beforeEach(() => {
      upstream.finishes = true;
      released = Promise.withResolvers();
      submitted = [];
      upstream.beforeSubmit = async (body) => {
        const prompt = /"prompt":"([^"]*)"/.exec(body)?.[1] ?? /name="prompt"\s+([^\r]*)/.exec(body)?.[1];
        if (prompt !== undefined) submitted.push(prompt);
        return prompt?.startsWith('bad') ? refusal : undefined;
      };
    });
    after(async () => {
      await assertLedgerConsistent(service.app.database);
      await service.stop();
      await upstream.stop();
      await holding.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const upload = async (text: string) =>
      (await openai.files.create({ file: await toFile(Buffer.from(text), 'lines.jsonl'), purpose: 'batch' })).id;
    const linesOf = (url: string, bodies: readonly object[], prefix = 'line') =>
      bodies
        .map((body, index) => JSON.stringify({ custom_id: `${prefix}-${index}`, method: 'POST', url, body }))
        .join('\n');
    const start = async (url: string, bodies: readonly object[], more: object = {}) =>
      (await openai.batches.create({
        input_file_id: await upload(linesOf(url, bodies)),
        endpoint: url as '/v1/videos',
        completion_window: '24h',
        ...more,
      })) as Own;
    const until = async (id: string, isDone: (batch: Own) => boolean): Promise<Own> => {
      for (let tries = 0; tries < 600; tries++) {
        const batch = (await openai.batches.retrieve(id)) as Own;
        if (isDone(batch)) return batch;
        await pause(50);
      }
      return assert.fail(`not within 30 seconds: ${JSON.stringify(await openai.batches.retrieve(id))}`);
    };
    const ended = (id: string) => until(id, ({ status }) => ENDED.includes(status));
    const read = async (id: string | null | undefined): Promise<OutputLine[]> => {
      if (id === null || id === undefined) return [];
      const text = await (await openai.files.content(id)).text();
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as OutputLine);
    };
    const video = (prompt: string) => ({ model: 'sora-2', prompt, seconds: '4' });
    const chat = (content: string) => ({
      model: 'sandbox-chat',
      messages: [{ role: 'user', content }],
      max_completion_tokens: 16,
    });

    it("OpenAI's client runs a batch of model calls from the upload to its output file", async () => {
      const batch = await start(
        '/v1/chat/completions',
        [chat('one'), chat('two'), { model: 'nothing', messages: [] }],
        {
          metadata: { name: 'first' },
        },
      );
      assert.equal(batch.status, 'validating');
      assert.deepEqual(batch.metadata, { name: 'first' });
      const done = await ended(batch.id);
      assert.equal(done.status, 'completed');
      assert.deepEqual(done.request_counts, { total: 3, completed: 2, failed: 1 });
      assert.ok((done.usage?.input_tokens ?? 0) > 0 && (done.usage?.output_tokens ?? 0) > 0);
      const output = await read(done.output_file_id);
      assert.deepEqual(
        output.map(({ custom_id, response, error }) => [
          custom_id,
          response?.status_code,
          response?.body.object,
          error,
        ]),
        [
          ['line-0', 200, 'chat.completion', null],
          ['line-1', 200, 'chat.completion', null],
        ],
      );
      const errors = await read(done.error_file_id);
      assert.deepEqual(
        errors.map(({ custom_id, response }) => [custom_id, response?.status_code]),
        [['line-2', 400]],
      );
      const file = await openai.files.retrieve(done.output_file_id ?? '');
      assert.equal(file.purpose, 'batch_output');
      assert.equal((file.expires_at ?? 0) - file.created_at, 7 * 86_400);
      const listed = await openai.batches.list({ limit: 1 });
      assert.equal(listed.data[0]?.id, batch.id);
      const requests = await service.operator.requestData<{ ref: string }[]>('GET', '/api/requests?limit=50');
      assert.ok(requests.some(({ ref }) => ref.startsWith(`req_${batch.id}-1-`)));
    });

    it('escapes the line separators at which Python splits a file', async () => {
      const done = await ended(
        (await start('/v1/chat/completions', [{ ...chat('separators'), model: 'held-chat' }])).id,
      );
      const text = await (await openai.files.content(done.output_file_id ?? '')).text();
      assert.match(text, /a\\u2028b\\u2029c\\u0085d/);
      assert.equal(text.split(/[\n\u0085\u2028\u2029]/).length, 2);
    });

    it('runs embeddings and responses', async () => {
      const responses = await start('/v1/responses', [
        { model: 'sandbox-chat', input: 'hello', max_output_tokens: 16 },
      ]);
      const embeddings = await start('/v1/embeddings', [{ model: 'sandbox-embedding', input: 'hello' }]);
      for (const { id } of [responses, embeddings]) {
        const done = await ended(id);
        assert.deepEqual(
          done.request_counts,
          { total: 1, completed: 1, failed: 0 },
          JSON.stringify(await read(done.error_file_id)),
        );
      }
    });

    it('a line of videos ends with its video, and its body is the finished object', async () => {
      const batch = await start('/v1/videos', [video('a'), video('b'), video('c')]);
      const done = await ended(batch.id);
      assert.deepEqual(done.request_counts, { total: 3, completed: 3, failed: 0 });
      assert.equal(done.spent, 3 * price);
      assert.deepEqual(submitted.sort(), ['a', 'b', 'c']);
      const output = await read(done.output_file_id);
      assert.deepEqual(
        output.map(({ custom_id, response }) => [
          custom_id,
          response?.body.object,
          response?.body.status,
          response?.body.prompt,
        ]),
        ['a', 'b', 'c'].map((prompt, index) => [`line-${index}`, 'video', 'completed', prompt]),
      );
      assert.equal(done.error_file_id, null);
    });

    it('the budget stops new lines, and exactly what it covers is sent', async () => {
      const batch = await start(
        '/v1/videos',
        Array.from({ length: 6 }, (_, index) => video(`v${index}`)),
        {
          budget: 2 * price + 1,
        },
      );
      const done = await ended(batch.id);
      assert.equal(done.status, 'completed');
      assert.deepEqual(done.request_counts, { total: 6, completed: 2, failed: 4 });
      assert.equal(done.spent, 2 * price);
      assert.equal(submitted.length, 2);
      const errors = await read(done.error_file_id);
      assert.deepEqual(
        errors.map(({ response, error }) => [response, error?.code]),
        Array.from({ length: 4 }, () => [null, 'budget_reached']),
      );
    });

    it('every defect of a file is reported with its line, and nothing is sent', async () => {
      const good = { custom_id: 'a', method: 'POST', url: '/v1/videos', body: {} };
      const lines = [
        JSON.stringify(good),
        '{"broken"',
        JSON.stringify({ ...good, custom_id: undefined }),
        JSON.stringify({ ...good, custom_id: 'b', method: 'GET' }),
        '',
        JSON.stringify({ ...good, custom_id: 'c', url: '/v1/responses' }),
        JSON.stringify({ ...good, custom_id: 'd', body: 'text' }),
        JSON.stringify(good),
        JSON.stringify({ ...good, custom_id: 'e', body: { stream: true } }),
      ];
      const batch = await openai.batches.create({
        input_file_id: await upload(lines.join('\r\n')),
        endpoint: '/v1/videos',
        completion_window: '24h',
      });
      const failed = await ended(batch.id);
      assert.equal(failed.status, 'failed');
      assert.deepEqual(
        failed.errors?.data?.map(({ line, code, param }) => [line, code, param]),
        [
          [2, 'invalid_json_line', null],
          [3, 'missing_required_parameter', 'custom_id'],
          [4, 'invalid_method', 'method'],
          [6, 'mismatched_endpoint', 'url'],
          [7, 'missing_required_parameter', 'body'],
          [8, 'duplicate_custom_id', 'custom_id'],
          [9, 'stream_unsupported', 'body.stream'],
        ],
      );
    });

    it('refuses other endpoints, windows, files and accounts by name', async () => {
      const input = await upload(linesOf('/v1/videos', [video('a')]));
      const create = (more: object) =>
        openai.batches.create({ input_file_id: input, endpoint: '/v1/videos', completion_window: '24h', ...more });
      await assert.rejects(create({ endpoint: '/v1/completions' }), { status: 400, param: 'endpoint' });
      await assert.rejects(create({ completion_window: '8d' }), { status: 400, param: 'completion_window' });
      await assert.rejects(create({ budget: -1 }), { status: 400 });
      await assert.rejects(create({ input_file_id: 'file-none' }), { status: 404, code: 'file_not_found' });
      await assert.rejects(create({ metadata: { key: 'x'.repeat(513) } }), { status: 400, param: 'metadata' });
      const batch = await create({});
      for (const call of [
        () => stranger.batches.retrieve(batch.id),
        () => stranger.batches.cancel(batch.id),
        () => openai.batches.retrieve('batch_none'),
      ])
        await assert.rejects(call(), { status: 404, code: 'batch_not_found' });
      assert.deepEqual((await stranger.batches.list()).data, []);
      await ended(batch.id);
    });

    it('cancelling sends nothing more, lets running videos finish and accounts for every line', async () => {
      upstream.finishes = false;
      const batch = await start(
        '/v1/videos',
        Array.from({ length: 20 }, (_, index) => video(`v${index}`)),
      );
      await until(batch.id, ({ spent }) => spent > 0);
      const cancelling = await openai.batches.cancel(batch.id);
      assert.equal(cancelling.status, 'cancelling');
      upstream.finishes = true;
      const done = await ended(batch.id);
      assert.equal(done.status, 'cancelled');
      const [output, errors] = [await read(done.output_file_id), await read(done.error_file_id)];
      const ids = [...output, ...errors].map(({ custom_id }) => custom_id);
      assert.deepEqual(new Set(ids).size, 20);
      assert.equal(ids.length, 20);
      assert.equal(done.spent, output.length * price);
      assert.equal((await openai.batches.cancel(batch.id)).status, 'cancelled');
    });

    it('an expired batch sends nothing more and refunds what waits', async () => {
      upstream.finishes = false;
      const batch = await start(
        '/v1/videos',
        Array.from({ length: 12 }, (_, index) => video(`e${index}`)),
      );
      await until(batch.id, ({ spent }) => spent > 0);
      await openai.post(`/batches/${batch.id}/pause`);
      await service.app.database.kysely
        .updateTable('batches')
        .set({ expires_at: 1 })
        .where('id', '=', batch.id)
        .execute();
      upstream.finishes = true;
      const done = await ended(batch.id);
      assert.equal(done.status, 'expired');
      const [output, errors] = [await read(done.output_file_id), await read(done.error_file_id)];
      assert.equal(output.length + errors.length, 12);
      assert.equal(done.spent, output.length * price);
      for (const { error } of errors) assert.equal(error?.code, 'batch_expired');
    });

    it('the end of a batch is one notification and one event', async () => {
      const batch = await start('/v1/videos', [video('a'), video('b')]);
      await ended(batch.id);
      const { data } = await service.operator.request<{ target_url: string }[]>(
        'GET',
        '/api/notifications/?page_size=50',
      );
      assert.equal(data.filter(({ target_url }) => target_url === `/batches/${batch.id}`).length, 1);
      const { events } = await service.operator.requestData<{ events: { type: string; data: { id?: string } }[] }>(
        'GET',
        '/api/events?limit=100',
      );
      const types = events.filter((event) => event.data.id === batch.id).map(({ type }) => type);
      assert.deepEqual(types, ['batch.completed']);
    });

    it('a line of a key that was revoked is refused, not sent', async () => {
      const made = await service.operator.requestData<{ id: number; key: string }>('POST', '/api/tokens', {
        name: 'x',
      });
      const client = new OpenAI({ apiKey: made.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
      const batch = await client.batches.create({
        input_file_id: await upload(linesOf('/v1/videos', [video('a')])),
        endpoint: '/v1/videos',
        completion_window: '24h',
      });
      await client.post(`/batches/${batch.id}/pause`);
      await service.operator.requestData('DELETE', `/api/tokens/${made.id}`);
      await openai.post(`/batches/${batch.id}/resume`);
      const done = await ended(batch.id);
      // The line may have been sent before the batch was paused.
      assert.equal(done.request_counts?.failed, 1 - submitted.length);
      for (const { response } of await read(done.error_file_id)) assert.equal(response?.status_code, 401);
    });

    it('lines that a full queue refuses are sent later, once each', async () => {
      const { operator, app } = service;
      const limit = (most: number | null, queued: number | null) =>
        Promise.all([
          operator.requestData('PUT', `/api/admin/channels/${channel}`, { max_concurrent_tasks: most }),
          operator.requestData('PUT', `/api/admin/users/${operator.id}`, { queued_tasks: queued }),
        ]);
      await limit(1, 1);
      upstream.finishes = false;
      const prompts = Array.from({ length: 5 }, (_, index) => `full ${index}`);
      const batch = await start('/v1/videos', prompts.map(video));
      const rows = app.database.kysely;
      const retryAt = async () =>
        (await rows.selectFrom('batches').select('retry_at').where('id', '=', batch.id).executeTakeFirstOrThrow())
          .retry_at;
      for (let tries = 0; tries < 3_000 && (await retryAt()) === 0; tries++) await pause(20);
      assert.ok((await retryAt()) > 0, 'the queue refused a line');
      upstream.finishes = true;
      await limit(null, null);
      await rows.updateTable('batches').set({ retry_at: 0 }).where('id', '=', batch.id).execute();
      const done = await ended(batch.id);
      assert.deepEqual(done.request_counts, { total: 5, completed: 5, failed: 0 });
      assert.deepEqual(submitted.sort(), prompts);
    });

    it('lines that no vendor accepts do not hold up the others', async () => {
      const rows = service.app.database.kysely;
      await service.operator.requestData('POST', '/api/admin/models', {
        id: 'unserved-chat',
        kind: 'chat',
        vendor: 'openai',
        price: { input_per_million: 1, output_per_million: 1 },
      });
      const unserved = Array.from({ length: 12 }, () => ({ ...chat('a'), model: 'unserved-chat' }));
      const batch = await start('/v1/chat/completions', [...unserved, chat('b'), chat('c')]);
      await until(batch.id, ({ request_counts: counts }) => {
        // Their pauses are not waited for.
        void rows.updateTable('batches').set({ retry_at: 0 }).where('id', '=', batch.id).execute();
        return counts?.completed === 2;
      });
      await openai.batches.cancel(batch.id);
      assert.equal((await ended(batch.id)).request_counts?.failed, 12);
    });

    it('a paused batch starts nothing until it is resumed', async () => {
      const batch = await start('/v1/videos', [video('a')]);
      const paused = (await openai.post(`/batches/${batch.id}/pause`)) as Own;
      assert.ok(paused.paused_at !== null);
      await openai.post(`/batches/${batch.id}/resume`);
      assert.equal((await ended(batch.id)).status, 'completed');
      assert.equal(submitted.length, 1);
      await assert.rejects(openai.post(`/batches/${batch.id}/pause`), { status: 409, code: 'batch_not_running' });
    });

    it('failed lines are repeated as a new batch', async () => {
      refusal = 400;
      const batch = await start('/v1/videos', [video('good'), video('bad 1'), video('bad 2')]);
      const first = await ended(batch.id);
      assert.deepEqual(first.request_counts, { total: 3, completed: 1, failed: 2 });
      assert.equal(first.spent, price);
      refusal = undefined;
      const again = (await openai.post(`/batches/${batch.id}/retry`)) as Own & { retry_of: string };
      assert.equal(again.retry_of, batch.id);
      const done = await ended(again.id);
      assert.deepEqual(done.request_counts, { total: 2, completed: 2, failed: 0 });
      assert.deepEqual(
        (await read(done.output_file_id)).map(({ custom_id }) => custom_id),
        ['line-1', 'line-2'],
      );
      await assert.rejects(openai.post(`/batches/${again.id}/retry`), { status: 409, code: 'batch_without_failures' });
    });

    const held = (content: string) => ({ ...chat(content), model: 'held-chat' });
    const balance = async () => {
      const { kysely } = service.app.database;
      const isOpen = async () => (await kysely.selectFrom('reservations').select('ref').limit(1).execute()).length > 0;
      for (let tries = 0; tries < 200 && (await isOpen()); tries++) await pause(20);
      return (await service.operator.requestData<{ quota: number }>('GET', '/api/user/self')).quota;
    };
    const startHeld = async () => {
      const seen = holding.requests.length;
      const batch = await start('/v1/chat/completions', [held('hold')]);
      for (let tries = 0; tries < 500 && holding.requests.length === seen; tries++) await pause(20);
      return batch;
    };

    it('a call whose request id imitates that of a line is no part of the batch', async () => {
      const alone = await ended((await start('/v1/chat/completions', [held('free')])).id);
      const batch = await startHeld();
      const headers = { 'x-request-id': `${batch.id}-1` };
      await openai.chat.completions.create(held('free') as never, { headers });
      released.resolve();
      const done = await ended(batch.id);
      assert.deepEqual([done.request_counts?.completed, done.spent], [1, alone.spent]);
    });

    it('a line that another process has taken for interrupted costs nothing, whenever its response arrives', async () => {
      const before = await balance();
      const batch = await startHeld();
      const { kysely } = service.app.database;
      const line = await kysely
        .selectFrom('batch_lines')
        .selectAll()
        .where('batch_id', '=', batch.id)
        .executeTakeFirstOrThrow();
      // What the other process writes before the stalled one has reserved anything.
      await kysely
        .updateTable('batch_lines')
        .set({ state: 'failed', owner: null, amount: 0, is_settled: 1, result: '{}' })
        .where('batch_id', '=', batch.id)
        .execute();
      await kysely
        .updateTable('batches')
        .set(({ eb }) => ({ failed: 1, spent: eb('spent', '-', line.amount) }))
        .where('id', '=', batch.id)
        .execute();
      released.resolve();
      assert.equal((await ended(batch.id)).spent, 0);
      for (let tries = 0; tries < 100 && (await balance()) !== before; tries++) await pause(50);
      assert.equal(await balance(), before);
    });

    it('a line whose end the database refuses ends as interrupted and is refunded', async () => {
      const { kysely } = service.app.database;
      const before = await balance();
      await sql`create unique index one_end on batch_lines (state) where state = 'completed' and custom_id = 'lost-0'`.execute(
        kysely,
      );
      await sql`insert into batch_lines (batch_id, line, custom_id, start, bytes, state) values ('other', 1, 'lost-0', 0, 1, 'completed')`.execute(
        kysely,
      );
      try {
        const { id } = await openai.batches.create({
          input_file_id: await upload(linesOf('/v1/chat/completions', [held('free')], 'lost')),
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
        });
        const done = await ended(id);
        assert.equal((done as Own).spent, 0);
        assert.deepEqual(
          (await read(done.error_file_id)).map(({ error }) => error?.code),
          ['interrupted'],
        );
        assert.equal(await balance(), before);
      } finally {
        await sql`drop index one_end`.execute(kysely);
        await kysely.deleteFrom('batch_lines').where('batch_id', '=', 'other').execute();
      }
    });

    it('a line that was ended meanwhile does not end the batch for lack of budget', async () => {
      const submits = Promise.withResolvers<void>();
      const { beforeSubmit } = upstream;
      upstream.beforeSubmit = async (body) => {
        await submits.promise;
        return beforeSubmit?.(body);
      };
      const batch = await start(
        '/v1/videos',
        Array.from({ length: 12 }, (_, index) => video(`t${index}`)),
      );
      const { kysely } = service.app.database;
      const countRunning = async () =>
        (
          await kysely
            .selectFrom('batch_lines')
            .select('line')
            .where('batch_id', '=', batch.id)
            .where('state', '=', 'running')
            .execute()
        ).length;
      for (let tries = 0; tries < 500 && (await countRunning()) < 8; tries++) await pause(20);
      await kysely
        .updateTable('batch_lines')
        .set({ state: 'failed', is_settled: 1, result: '{"custom_id":"line-8","response":null,"error":null}' })
        .where('batch_id', '=', batch.id)
        .where('line', '=', 9)
        .execute();
      submits.resolve();
      const done = await ended(batch.id);
      assert.equal(done.request_counts?.completed, 11, JSON.stringify(await read(done.error_file_id)));
      assert.equal(submitted.length, 11);
    });

    it('batches that cannot advance do not hold up others', async () => {
      upstream.finishes = false;
      const stuck = await Promise.all(
        Array.from({ length: 16 }, (_, index) => start('/v1/videos', [video(`s${index}`)])),
      );
      for (const { id } of stuck) await until(id, ({ spent }) => spent > 0);
      const done = await ended((await start('/v1/chat/completions', [chat('one')])).id);
      assert.equal(done.request_counts?.completed, 1);
      upstream.finishes = true;
      for (const { id } of stuck) assert.equal((await ended(id)).request_counts?.completed, 1);
    });

    it('files that cannot be written are written again a minute later', async (t) => {
      const batch = await start('/v1/chat/completions', [held('hold')]);
      await until(batch.id, ({ status }) => status === 'in_progress');
      const broken = t.mock.method(fs.promises, 'rename', () => Promise.reject(new Error('the store is broken')));
      const restore = (): void => {
        broken.mock.restore();
        syncBuiltinESMExports();
      };
      t.after(restore);
      syncBuiltinESMExports();
      released.resolve();
      await until(batch.id, ({ status }) => status === 'finalizing');
      await pause(1_500);
      assert.equal(broken.mock.callCount(), 1);
      restore();
      await service.app.database.kysely
        .updateTable('batches')
        .set({ retry_at: 0 })
        .where('id', '=', batch.id)
        .execute();
      const { output_file_id } = await ended(batch.id);
      assert.equal((await read(output_file_id)).length, 1);
    });

    it('a batch that is cancelled while its file is checked has no lines', async () => {
      const { kysely } = service.app.database;
      const { id } = await ended((await start('/v1/chat/completions', [chat('one')])).id);
      const row = await kysely.selectFrom('batches').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      const own = `batch_unchecked${id.slice(-8)}`;
      const line = { batch_id: own, line: 1, custom_id: 'a', start: 0, bytes: 1, state: 'pending' } as const;
      await kysely
        .insertInto('batch_lines')
        .values({ ...line, owner: null, ref: null, result: null })
        .execute();
      await kysely
        .insertInto('batches')
        .values({
          ...{ ...row, id: own, status: 'cancelling', ending: null, in_progress_at: null, completed_at: null },
          ...{ total: 0, completed: 0, failed: 0, output_file_id: null, error_file_id: null, lease_until: 0 },
        })
        .execute();
      const done = await ended(own);
      assert.deepEqual([done.status, done.error_file_id ?? null], ['cancelled', null]);
      assert.deepEqual(done.request_counts, { total: 0, completed: 0, failed: 0 });
    });
  });
});

const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'chat' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};
const ENDED: readonly string[] = ['completed', 'failed', 'expired', 'cancelled'];

/** A client of another account. */
async function strangerOf({ baseUrl, operator }: SandboxService): Promise<OpenAI> {
  const login = { username: 'stranger', password: 'stranger-password-1' };
  await operator.requestData('POST', '/api/admin/users', login);
  const client = await new AdminClient(baseUrl).signIn(login);
  return new OpenAI({ apiKey: await client.makeToken(), baseURL: `${baseUrl}/v1`, maxRetries: 0 });
}
