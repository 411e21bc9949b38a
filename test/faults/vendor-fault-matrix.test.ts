import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { idOf, startVideoService, VENDOR_MODELS, type VendorModel, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openWithShortTimeouts, resolveTestNames } from './impatient-client.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import {
  expectedContentOutcome,
  expectedSubmitOutcome,
  FAULTS,
  type FaultName,
  isMisconfiguration,
  toMisconfiguredUrl,
  toSandboxFault,
} from './vendor-faults.ts';

/** Every vendor API × every fault, at the submit, at a query and at the file, with the outcome of each combination. */
interface Cell {
  readonly vendor: VendorModel;
  readonly fault: FaultName;
  readonly prompt: string;
  model: string;
  channels: number[];
  id?: string;
  answer?: { status: number; body: { readonly [key: string]: unknown } };
}
type Row = { prompt: string; status: string; id: string; vendor: string };

const PRICE_BOUND = 100_000_000_000;
const AT_ONCE = 16;
const isOverloaded = (answer: Cell['answer']): boolean => answer?.status === 503 && answer.body.code === 'unavailable';
/** Vendors at which a lost submit can be looked up by our own id. */
const LOOKED_UP = new Set(['kling', 'vidu']);
const cellsOf = (operation: string): Cell[] =>
  VENDOR_MODELS.flatMap((vendor) =>
    FAULTS.map((fault) => ({
      vendor,
      fault,
      prompt: `${operation}-${vendor.name}-${fault}.`,
      model: `${operation}-${vendor.name}-${fault}`,
      channels: [],
    })),
  );

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}

describe('eight vendors, three operations, every fault', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: VideoService;
    let database: ReturnType<typeof openReadOnly>;
    const cells = { submit: cellsOf('submit'), query: cellsOf('query'), content: cellsOf('content') };

    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, {
        env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '15', SUBMIT_VISIBILITY_SECONDS: '3600' },
        overrides: { outbound: openWithShortTimeouts({ resolveConfigured: resolveTestNames }) },
        sandbox: { keepRequests: 50_000 },
      });
      await service.operator.grantQuota(PRICE_BOUND);
      database = openReadOnly(url);
    });
    after(async () => {
      await database.close();
      await service.stop();
    });

    /**
     * Each cell has its own model, so that a fault of one cell does not open the circuit breaker of another cell's
     * channel.
     */
    async function prepare(cell: Cell, withSecond: boolean): Promise<void> {
      const { operator, sandbox } = service;
      const { name, model } = cell.vendor;
      await operator.requestData('POST', '/api/admin/models', { id: cell.model, alias_of: model });
      const channel = {
        vendor: name.split('-')[0] ?? name,
        credentials: sandbox.credentials(name),
        models: [cell.model],
      };
      const address = sandbox.url(name);
      const first =
        withSecond && isMisconfiguration(cell.fault) ? origin(toMisconfiguredUrl(address, cell.fault)) : address;
      cell.channels.push(await operator.addChannel({ ...channel, base_url: first, priority: 10 }));
      if (withSecond) cell.channels.push(await operator.addChannel({ ...channel, base_url: address }));
    }
    const origin = (address: string) => address.replace(/\/$/, '');

    async function submit(cell: Cell): Promise<void> {
      const body = { model: cell.model, prompt: cell.prompt };
      // On a busy machine the database may be too slow for one of hundreds of concurrent submits: the client retries
      // with the same key.
      const headers = { 'idempotency-key': cell.model };
      const send = () => service.caller.request('POST', '/v1/video/generations', body, headers);
      let answer = await send();
      for (let tries = 1; tries < 5 && isOverloaded(answer); tries += 1) {
        await pause(1_000);
        answer = await send();
      }
      cell.answer = answer;
      if (answer.status === 200) cell.id = idOf(answer.body);
    }

    /** Waits until every task of these cells has ended; Veo tasks are polled when a client requests them. */
    async function settle(some: readonly Cell[]): Promise<Map<string, Row>> {
      const prompts = some.map(({ prompt }) => prompt);
      const read = () =>
        database.kysely
          .selectFrom('tasks')
          .select(['prompt', 'status', 'id', 'vendor', 'next_poll_at', 'public_id'])
          .where('prompt', 'in', prompts)
          .execute();
      for (let rounds = 0; rounds < 120; rounds += 1) {
        const rows = await read();
        const open = rows.filter(({ next_poll_at: next }) => next !== null);
        if (open.length === 0) return new Map(rows.map((row) => [row.prompt, row]));
        await each(open, async ({ vendor, public_id: id }) => {
          if (/^veo/.test(vendor)) await service.caller.video(id);
        });
        await pause(400);
      }
      const left = (await read()).filter(({ next_poll_at: next }) => next !== null);
      return assert.fail(`unfinished: ${left.map(({ prompt, status }) => `${prompt} ${status}`).join(', ')}`);
    }

    /** Quota charged for one task: reservations minus refunds. */
    async function charged(id: string): Promise<number> {
      const rows = await database.kysely
        .selectFrom('ledger')
        .select(['kind', 'amount'])
        .where('ref', '=', id)
        .execute();
      return -rows.reduce((sum, { amount }) => sum + Number(amount), 0);
    }
    const submitsOf = ({ vendor, prompt }: Cell) =>
      service.sandbox.control
        .requests({ vendor: vendor.name, operation: 'submit' })
        .filter((request) => request.body.includes(prompt));
    const jobsOf = ({ vendor, prompt }: Cell) =>
      service.sandbox.control.jobs(vendor.name).filter((job) => job.prompt === prompt);

    describe('submit', () => {
      let rows: Map<string, Row>;
      before(async () => {
        await each(cells.submit, (cell) => prepare(cell, true));
        for (const { vendor, fault, prompt } of cells.submit) {
          if (isMisconfiguration(fault) || fault === 'duplicate') continue;
          service.sandbox.control.fault({
            ...toSandboxFault(fault),
            vendor: vendor.name,
            operation: 'submit',
            match: prompt,
          });
        }
        const isRepeat = ({ fault }: Cell) => fault === 'duplicate';
        await each(
          cells.submit.filter((cell) => !isRepeat(cell)),
          submit,
        );
        await each(cells.submit.filter(isRepeat), async (cell) => {
          const vendor = cell.vendor.name;
          await service.caller.submit({ model: cell.model, prompt: 'the one before' });
          service.sandbox.control.fault({ kind: 'duplicate', vendor, operation: 'submit' });
          await submit(cell);
        });
        rows = await settle(cells.submit);
      });

      for (const cell of cells.submit) {
        it(`${cell.vendor.name}: ${cell.fault}`, async () => {
          const row = rows.get(cell.prompt) as Row;
          assert.ok(jobsOf(cell).length <= 1, 'at most one job');
          assert.equal(cell.answer?.status, 200, JSON.stringify(cell.answer?.body));
          const end = expectedSubmitOutcome(cell.fault);
          if (end === 'lost') {
            assert.equal(submitsOf(cell).length, 1, 'never sent again');
            const found = LOOKED_UP.has(cell.vendor.name) && jobsOf(cell).length === 1;
            assert.equal(row.status, found ? 'SUCCESS' : 'FAILURE');
          } else {
            assert.equal(submitsOf(cell).length, end === 'untouched' || isMisconfiguration(cell.fault) ? 1 : 2);
            assert.equal(row.status, 'SUCCESS');
          }
          assert.equal((await charged(row.id)) > 0, row.status === 'SUCCESS');
        });
      }
    });

    // The effect of a fault on a poll or a file does not depend on the database, so these cases run once.
    const describeOnce = (title: string, suite: () => void): void => {
      if (name === 'sqlite') void describe(title, suite);
    };
    describeOnce('query', () => {
      let rows: Map<string, Row>;
      before(async () => {
        await each(cells.query, async (cell) => {
          await prepare(cell, false);
          await submit(cell);
          const job = service.job(cell.vendor.name, cell.prompt);
          if (!isMisconfiguration(cell.fault)) {
            const aim = { vendor: cell.vendor.name, operation: 'query', match: job.id, times: 2 } as const;
            service.sandbox.control.fault({ ...toSandboxFault(cell.fault), ...aim });
            return;
          }
          const [channel] = cell.channels;
          const address = service.sandbox.url(cell.vendor.name);
          const put = (to: string) =>
            service.operator.requestData('PUT', `/api/admin/channels/${channel}`, { base_url: to });
          await put(origin(toMisconfiguredUrl(address, cell.fault)));
          await pause(1_300);
          if (/^veo/.test(cell.vendor.name)) await service.caller.video(cell.id);
          await put(address);
        });
        rows = await settle(cells.query);
      });

      for (const cell of cells.query) {
        it(`${cell.vendor.name}: ${cell.fault}`, async () => {
          const row = rows.get(cell.prompt) as Row;
          assert.equal(cell.answer?.status, 200);
          assert.equal(jobsOf(cell).length, 1);
          assert.equal(row.status, 'SUCCESS', 'a failed poll says nothing about the task');
          assert.ok((await charged(row.id)) > 0);
        });
      }
    });

    describeOnce('content', () => {
      const files = new Map<string, { status: number; bytes: number; broken: boolean; type: string; code: string }>();
      before(async () => {
        await each(cells.content, async (cell) => {
          await prepare(cell, false);
          await submit(cell);
        });
        await settle(cells.content);
        await each(cells.content, async (cell) => {
          const job = service.job(cell.vendor.name, cell.prompt);
          if (isMisconfiguration(cell.fault)) await misplace(cell, cell.fault);
          else
            service.sandbox.control.fault({
              ...toSandboxFault(cell.fault),
              vendor: cell.vendor.name,
              operation: 'content',
              match: job.id,
            });
          files.set(cell.prompt, await fetchFile(cell));
        });
      });

      /** Moves the file away, or makes its host unreachable. */
      async function misplace(cell: Cell, wrong: Parameters<typeof toMisconfiguredUrl>[1]): Promise<void> {
        const [channel] = cell.channels;
        const address = origin(toMisconfiguredUrl(service.sandbox.url(cell.vendor.name), wrong));
        await service.operator.requestData('PUT', `/api/admin/channels/${channel}`, { base_url: address });
        const task = await database.kysely
          .selectFrom('tasks')
          .select(['id', 'artifact'])
          .where('prompt', '=', cell.prompt)
          .executeTakeFirstOrThrow();
        const artifact = JSON.parse(task.artifact ?? '{}') as { kind: string; url?: string };
        if (artifact.url === undefined) return;
        await database.kysely
          .updateTable('tasks')
          .set({ artifact: JSON.stringify({ ...artifact, url: toMisconfiguredUrl(artifact.url, wrong) }) })
          .where('id', '=', task.id)
          .execute();
      }

      async function fetchFile(cell: Cell) {
        const response = await service.caller.fetchRaw(`/v1/videos/${cell.id}/content`);
        const type = response.headers.get('content-type') ?? '';
        const chunks: Uint8Array[] = [];
        let bytes = 0;
        let broken = false;
        const leave = AbortSignal.timeout(4_000);
        const reader = response.body?.getReader();
        const gone = new Promise<never>((_, reject) => {
          leave.addEventListener('abort', () => reject(new Error('nobody waits')), { once: true });
        });
        gone.catch(() => {});
        try {
          // Stop reading a file that never ends.
          while (bytes < 16 * 1024 ** 2) {
            const { done, value } = (await Promise.race([reader?.read(), gone])) ?? { done: true, value: undefined };
            if (done || value === undefined) break;
            bytes += value.length;
            if (bytes < 100_000) chunks.push(value);
          }
          if (bytes >= 16 * 1024 ** 2) broken = true;
        } catch {
          broken = true;
        }
        await reader?.cancel().catch(() => {});
        const text = type.startsWith('application/json') ? Buffer.concat(chunks).toString() : '{}';
        return {
          status: response.status,
          bytes,
          broken,
          type,
          code: (JSON.parse(text) as { code?: string }).code ?? '',
        };
      }

      for (const cell of cells.content) {
        it(`${cell.vendor.name}: ${cell.fault}`, async () => {
          const file = files.get(cell.prompt);
          // The file is contained in the response to a query, and kept since it was checked.
          const isInline = cell.vendor.name === 'veo-vertex';
          const end = isInline ? 'file' : expectedContentOutcome(cell.fault, /^veo(-omni)?$/.test(cell.vendor.name));
          if (end === 'file') assert.deepEqual([file?.status, file?.broken, file?.type], [200, false, 'video/mp4']);
          if (end === 'refused') {
            assert.equal(file?.status, 502, JSON.stringify(file));
            assert.match(String(file?.code), /^(content_unavailable|upstream_error)$/);
          }
          if (end === 'cut') assert.ok(file?.broken === true || file?.status === 502, JSON.stringify(file));
          if (end === 'strange') assert.match(String(file?.status), /^(200|502)$/);
          const task = await service.caller.video(cell.id);
          assert.equal(task.status, 'completed', 'the file’s trouble is not the task’s');
        });
      }
    });

    it('the ledger is consistent after all faults', () => assertLedgerConsistent(database));
  });
});
