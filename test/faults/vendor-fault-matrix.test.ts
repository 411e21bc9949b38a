import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { OutboundRequest } from '../../src/server/platform/outbound/outbound.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VendorModel, type VideoService } from '../flows/video-fixture.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { openWithShortTimeouts, resolveTestNames } from './impatient-client.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import {
  expectedContentOutcome,
  expectedSubmitOutcome,
  FAULTS,
  type FaultName,
  isMisconfiguration,
  TIMED_FAULTS,
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
type Row = { prompt: string; status: string; id: string; vendor: string; public_id: string };

const PRICE_BOUND = 100_000_000_000;
const AT_ONCE = 16;
/** Prompt of a submit; polls, files and tokens have none. */
const PROMPT = /\b(?:before|submit|query|content)-[\w-]+\./;
const MAX_TRIES = 30;
const MAX_ROUNDS = 600;
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

/** Repeats a request of the setup that an overloaded machine refused before it changed anything. */
async function patiently<T>(send: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      if (tries === MAX_TRIES || !String(error).includes('Try again shortly')) throw error;
      await pause(1_000);
    }
  }
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}

describe('every vendor, three operations, every fault', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let database: ReturnType<typeof openReadOnly>;
    /** Prompts of submits whose next attempt meets a fault that only a timeout ends. */
    const timed = new Set<string>();
    const isPatient = ({ url, body }: OutboundRequest): boolean => {
      const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : '';
      const [prompt] = PROMPT.exec(text) ?? [];
      return prompt === undefined ? new URL(url).pathname.endsWith('/token') : !timed.delete(prompt);
    };
    const cells = { submit: cellsOf('submit'), query: cellsOf('query'), content: cellsOf('content') };

    /**
     * Each operation has its own service, because a change of a model or a channel costs more the more there are: 1,200
     * channels for all three.
     */
    const startService = async (): Promise<void> => {
      const url = await freshUrl();
      service = await startVideoService(url, {
        env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '15', SUBMIT_VISIBILITY_SECONDS: '3600' },
        overrides: { outbound: openWithShortTimeouts({ resolveConfigured: resolveTestNames }, isPatient) },
        sandbox: { keepRequests: 50_000 },
      });
      await service.operator.grantQuota(PRICE_BOUND);
      database = openReadOnly(url);
    };
    const stopService = async (): Promise<void> => {
      await database.close();
      await service.stop();
    };
    const itKeepsTheLedgerConsistent = (): void => {
      it('the ledger is consistent after all faults', () => assertLedgerConsistent(database));
    };

    /**
     * Each cell has its own model, so that a fault of one cell does not open the circuit breaker of another cell's
     * channel.
     */
    async function prepare(cell: Cell, withSecond: boolean): Promise<void> {
      const { operator, sandbox } = service;
      const { name, model } = cell.vendor;
      const alias = { id: cell.model, alias_of: model };
      await patiently(() => operator.requestData('POST', '/api/admin/models', alias));
      const channel = {
        vendor: name.split('-')[0] ?? name,
        credentials: sandbox.credentials(name),
        models: [cell.model],
      };
      const address = sandbox.url(name);
      const first =
        withSecond && isMisconfiguration(cell.fault) ? origin(toMisconfiguredUrl(address, cell.fault)) : address;
      const add = (more: { base_url: string; priority?: number }) =>
        patiently(() => operator.addChannel({ ...channel, ...more }));
      cell.channels.push(await add({ base_url: first, priority: 10 }));
      if (withSecond) cell.channels.push(await add({ base_url: address }));
    }
    const origin = (address: string) => address.replace(/\/$/, '');

    async function submit(cell: Cell): Promise<void> {
      const body = { model: cell.model, prompt: cell.prompt };
      // On a busy machine the database may be too slow for one of hundreds of concurrent submits: the client retries
      // with the same key.
      const headers = { 'idempotency-key': cell.model };
      const send = () => service.caller.request('POST', '/v1/video/generations', body, headers);
      let answer = await send();
      for (let tries = 1; tries < MAX_TRIES && isOverloaded(answer); tries += 1) {
        await pause(1_000);
        answer = await send();
      }
      cell.answer = answer;
      if (answer.status === 200) cell.id = idOf(answer.body);
    }

    /**
     * Waits until every task of these cells has ended, also one that waited for a slot; Veo tasks are polled when a
     * client requests them.
     * @returns the rows by the ids given to the caller: a submit repeated after an overload leaves two of one prompt
     */
    async function settle(some: readonly Cell[]): Promise<Map<string | undefined, Row>> {
      const prompts = some.map(({ prompt }) => prompt);
      const isOpen = ({ status }: { status: string }) => status !== 'SUCCESS' && status !== 'FAILURE';
      const read = () =>
        database.kysely
          .selectFrom('tasks')
          .select(['prompt', 'status', 'id', 'vendor', 'public_id'])
          .where('prompt', 'in', prompts)
          .execute();
      for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
        const rows = await read();
        const open = rows.filter(isOpen);
        if (open.length === 0) return new Map(rows.map((row) => [row.public_id, row]));
        await each(open, async ({ vendor, public_id: id }) => {
          if (/^veo/.test(vendor)) await service.caller.video(id);
        });
        await pause(400);
      }
      const left = (await read()).filter(isOpen);
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
      let rows: Map<string | undefined, Row>;
      before(startService);
      after(stopService);
      before(async () => {
        await each(cells.submit, (cell) => prepare(cell, true));
        for (const { vendor, fault, prompt } of cells.submit) {
          if (TIMED_FAULTS.has(fault)) timed.add(prompt);
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
          await service.caller.submit({ model: cell.model, prompt: `before-${vendor}.` });
          service.sandbox.control.fault({ kind: 'duplicate', vendor, operation: 'submit' });
          await submit(cell);
        });
        rows = await settle(cells.submit);
      });

      for (const cell of cells.submit) {
        it(`${cell.vendor.name}: ${cell.fault}`, async () => {
          assert.equal(cell.answer?.status, 200, JSON.stringify(cell.answer?.body));
          const row = rows.get(cell.id) as Row;
          assert.ok(jobsOf(cell).length <= 1, 'at most one job');
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
      itKeepsTheLedgerConsistent();
    });

    describe('query', () => {
      let rows: Map<string | undefined, Row>;
      before(startService);
      after(stopService);
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
            patiently(() => service.operator.requestData('PUT', `/api/admin/channels/${channel}`, { base_url: to }));
          await put(origin(toMisconfiguredUrl(address, cell.fault)));
          await pause(1_300);
          if (/^veo/.test(cell.vendor.name)) await service.caller.video(cell.id);
          await put(address);
        });
        rows = await settle(cells.query);
      });

      for (const cell of cells.query) {
        it(`${cell.vendor.name}: ${cell.fault}`, async () => {
          assert.equal(cell.answer?.status, 200, JSON.stringify(cell.answer?.body));
          const row = rows.get(cell.id) as Row;
          assert.equal(jobsOf(cell).length, 1);
          assert.equal(row.status, 'SUCCESS', 'a failed poll says nothing about the task');
          assert.ok((await charged(row.id)) > 0);
        });
      }
      itKeepsTheLedgerConsistent();
    });

    describe('content', () => {
      const files = new Map<string, { status: number; bytes: number; broken: boolean; type: string; code: string }>();
      before(startService);
      after(stopService);
      before(async () => {
        await each(cells.content, async (cell) => {
          await prepare(cell, false);
          await submit(cell);
        });
        const rows = await settle(cells.content);
        const unfinished = cells.content.filter(({ id }) => rows.get(id)?.status !== 'SUCCESS');
        assert.deepEqual(
          unfinished.map(({ model, id, answer }) => ({ model, answer, row: rows.get(id) })),
          [],
        );
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
        const put = () => service.operator.requestData('PUT', `/api/admin/channels/${channel}`, { base_url: address });
        await patiently(put);
        const task = await database.kysely
          .selectFrom('tasks')
          .select(['id', 'artifact'])
          .where('public_id', '=', String(cell.id))
          .executeTakeFirstOrThrow();
        const artifact = JSON.parse(task.artifact ?? '{}') as { kind: string; url?: string };
        // A file without a URL of its own is requested below the channel's base URL.
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
      itKeepsTheLedgerConsistent();
    });
  });
});
