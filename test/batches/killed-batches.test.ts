import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import type { FaultPoint } from '../../src/server/video/task-completion.ts';
import { AdminClient } from '../admin-client.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { type CrashingServer, startCrashingServer } from '../faults/start-crashing-server.ts';
import { forEachDatabase } from '../for-each-database.ts';

/** Lines of all batches together, and kills per database; `npm run hammer -- batches` sets more. */
const LINES = Number(process.env.BATCH_LINES ?? '36');
const KILLS = Number(process.env.BATCH_KILLS ?? '6');
const POINTS = [
  'batch-half-checked',
  'batch-line-sent',
  'after-reserve',
  'batch-line-answered',
  'after-answer',
  'batch-half-written',
  'before-send',
  'before-settle',
] as const satisfies readonly FaultPoint[];
const ENDED: readonly string[] = ['completed', 'failed', 'expired', 'cancelled'];
const RATES = { input_per_million: 1_000_000, output_per_million: 4_000_000 };
const ENV = {
  AMBIGUOUS_SUBMIT_TTL_SECONDS: '2',
  SYNC_PERIOD_SECONDS: '1',
  ARTIFACTS: 'disk',
  ARTIFACTS_MIN_FREE_GB: '0',
};

interface OutputLine {
  readonly custom_id: string;
  readonly response: { readonly status_code: number } | null;
  readonly error: { readonly code: string } | null;
}

/** Answers model calls and videos at once, and records every prompt that costs something. */
async function startVendor(): Promise<ScriptedUpstream & { readonly prompts: string[] }> {
  const upstream = await startScriptedUpstream();
  const prompts: string[] = [];
  let made = 0;
  const video = (id: string, status: string) => ({
    ...{ id, object: 'video', model: 'sora-2', status, progress: status === 'completed' ? 100 : 0 },
    ...{ created_at: 1_795_140_000, seconds: '4', size: '720x1280' },
  });
  upstream.respondWith((response, { path, body }) => {
    const send = (value: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const [prompt] = /(?:video|budget|call)-\d+/.exec(body) ?? [];
    if (prompt !== undefined) prompts.push(prompt);
    const [, id] = /^\/v1\/videos\/([^/]+)/.exec(path) ?? [];
    if (path.endsWith('/content') || path.includes('variant')) response.writeHead(404).end();
    else if (id !== undefined) send(video(id, 'completed'));
    else if (path === '/v1/videos') send(video(`video_${made++}`, 'queued'));
    else
      send({
        ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'chat' },
        choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      });
  });
  return { ...upstream, prompts };
}

describe('T76: batches survive kill -9 at every point', { concurrency: true }, () => {
  forEachDatabase((name, _open, freshUrl) => {
    let vendor: Awaited<ReturnType<typeof startVendor>>;
    let folder: string;
    let url: string;
    let service: CrashingServer;
    let key: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-killed-batches-'));
      vendor = await startVendor();
      url = await freshUrl();
      service = await startCrashingServer(url, { ...ENV, ARTIFACTS_DIR: folder });
      const operator = await new AdminClient(service.baseUrl).signIn();
      await operator.requestData('POST', '/api/admin/models', {
        id: 'chat',
        vendor: 'openai',
        kind: 'chat',
        price: RATES,
      });
      for (const [kind, models] of [
        ['sora', ['sora-2']],
        ['openai', ['chat']],
      ] as const) {
        const address = { base_url: vendor.url, credentials: { api_key: 'one' }, options: { private: true } };
        await operator.addChannel({ vendor: kind, models, ...address });
      }
      await operator.grantQuota(1_000_000_000_000_000);
      key = await operator.makeToken();
    });
    after(async () => {
      await service.stop();
      await vendor.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const client = () => new OpenAI({ apiKey: key, baseURL: `${service.baseUrl}/v1`, maxRetries: 3 });
    const restart = async () => {
      service = await startCrashingServer(url, { ...ENV, ARTIFACTS_DIR: folder });
    };
    const create = async (endpoint: '/v1/videos' | '/v1/chat/completions', word: string, count: number, more = {}) => {
      const lines = Array.from({ length: count }, (_, index) => {
        const text = `${word}-${index}`;
        const body =
          endpoint === '/v1/videos'
            ? { model: 'sora-2', prompt: text, seconds: '4' }
            : { model: 'chat', messages: [{ role: 'user', content: text }], max_completion_tokens: 16 };
        return JSON.stringify({ custom_id: text, method: 'POST', url: endpoint, body });
      });
      const openai = client();
      const file = await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl');
      const { id } = await openai.files.create({ file, purpose: 'batch' });
      return (await openai.batches.create({ input_file_id: id, endpoint, completion_window: '24h', ...more })).id;
    };
    const read = async (id: string) => (await client().batches.retrieve(id)) as OpenAI.Batch & { spent: number };
    const linesOf = async (id: string | null | undefined): Promise<OutputLine[]> =>
      id === null || id === undefined
        ? []
        : (await (await client().files.content(id)).text())
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as OutputLine);

    it(`${KILLS} kills on ${name}: each line reaches its vendor once at most and is in one file once`, async () => {
      const each = Math.ceil(LINES / 3);
      const operator = await new AdminClient(service.baseUrl).signIn();
      const { quota: price } = await operator.requestData<{ quota: number }>('POST', '/api/videos/quote', {
        model: 'sora-2',
        prompt: 'a',
        seconds: '4',
      });
      const covered = Math.floor(each / 2);
      const made = [
        [await create('/v1/chat/completions', 'call', each), each],
        [await create('/v1/videos', 'video', each), each],
        [await create('/v1/videos', 'budget', each, { budget: covered * price + 1 }), each],
      ] as const;
      const areAllEnded = async () =>
        (await Promise.all(made.map(([id]) => read(id)))).every(({ status }) => ENDED.includes(status));
      for (let kill = 0; kill < KILLS; kill++) {
        const at = POINTS[kill % POINTS.length] ?? 'after-reserve';
        await service.arm({ at, count: 1 + (kill % 3) });
        // A point that is not reached any more ends the round.
        for (let tries = 0; tries < 100; tries++) {
          const end = await Promise.race([service.ended, pause(200, 'alive', { ref: false })]);
          if (end !== 'alive') break;
          if (tries % 10 === 9 && (await areAllEnded().catch(() => false))) break;
        }
        const isAlive = (await Promise.race([service.ended, pause(1, 'alive', { ref: false })])) === 'alive';
        if (isAlive) await service.stop();
        await restart();
      }
      for (let tries = 0; tries < 3_000 + LINES && !(await areAllEnded()); tries++) await pause(200);

      for (const [id, count] of made) {
        const batch = await read(id);
        assert.equal(batch.status, 'completed', JSON.stringify(batch));
        const [output, errors] = [await linesOf(batch.output_file_id), await linesOf(batch.error_file_id)];
        const ids = [...output, ...errors].map(({ custom_id }) => custom_id);
        assert.equal(ids.length, count);
        assert.equal(new Set(ids).size, count);
        assert.deepEqual(batch.request_counts, { total: count, completed: output.length, failed: errors.length });
        if (batch.endpoint === '/v1/videos') assert.equal(batch.spent, output.length * price);
        for (const { error, response } of errors)
          if (response === null)
            assert.ok(['interrupted', 'budget_reached'].includes(error?.code ?? ''), JSON.stringify(error));
      }
      const budgeted = await read(made[2][0]);
      assert.ok(budgeted.spent <= covered * price, `${budgeted.spent} of ${covered * price}`);
      const counts = Map.groupBy(vendor.prompts, (prompt) => prompt);
      for (const [prompt, sent] of counts) assert.equal(sent.length, 1, `${prompt} was sent ${sent.length} times`);
      const database = openReadOnly(url);
      const { spent } = await read(made[0][0]);
      const charged = await database.kysely
        .selectFrom('ledger')
        .select(({ fn }) => fn.sum<number | null>('charged').as('charged'))
        .where('ref', '>=', `req_${made[0][0]}-`)
        .where('ref', '<', `req_${made[0][0]}.`)
        .executeTakeFirst();
      const returned = await database.kysely
        .selectFrom('ledger')
        .select(({ fn }) => fn.sum<number | null>('amount').as('amount'))
        .where('ref', 'like', `${made[0][0]}:%`)
        .executeTakeFirst();
      assert.equal(Number(charged?.charged ?? 0) - Number(returned?.amount ?? 0), spent);
      await assertLedgerConsistent(database);
      await database.close();
    });
  });
});
