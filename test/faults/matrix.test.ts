import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { forEachDatabase } from '../databases.ts';
import { DOORS, type Door, idOf, startVideoService, type VideoService } from '../flows/video-service.ts';
import { assertBooks, lookInto } from './books.ts';
import { openImpatient, resolveTestNames } from './impatient-door.ts';
import { astray, endOfContent, endOfSubmit, FAULTS, type FaultName, isWrong, played } from './matrix-cells.ts';

/** Every door × every fault, at the submit, at a query, and at the file; what each cell was left with. */
interface Cell {
  readonly door: Door;
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
/** A lost submit can be found again by our own id. */
const LOOKED_UP = new Set(['kling', 'vidu']);
const cellsOf = (operation: string): Cell[] =>
  DOORS.flatMap((door) =>
    FAULTS.map((fault) => ({
      door,
      fault,
      prompt: `${operation}-${door.name}-${fault}.`,
      model: `${operation}-${door.name}-${fault}`,
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
    let database: ReturnType<typeof lookInto>;
    const cells = { submit: cellsOf('submit'), query: cellsOf('query'), content: cellsOf('content') };

    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, {
        env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '6' },
        overrides: { outbound: openImpatient({ resolveConfigured: resolveTestNames }) },
        sandbox: { keepRequests: 50_000 },
      });
      await service.operator.grant(PRICE_BOUND);
      database = lookInto(url);
    });
    after(async () => {
      await database.close();
      await service.stop();
    });

    /** A model of the cell's own, so that no cell's fault rests another's channel. */
    async function prepare(cell: Cell, withSecond: boolean): Promise<void> {
      const { operator, sandbox } = service;
      const { name, model } = cell.door;
      await operator.call('POST', '/api/admin/models', { id: cell.model, alias_of: model });
      const channel = {
        vendor: name.split('-')[0] ?? name,
        credentials: sandbox.credentials(name),
        models: [cell.model],
      };
      const address = sandbox.url(name);
      const first = withSecond && isWrong(cell.fault) ? origin(astray(address, cell.fault)) : address;
      cell.channels.push(await operator.addChannel({ ...channel, base_url: first, priority: 10 }));
      if (withSecond) cell.channels.push(await operator.addChannel({ ...channel, base_url: address }));
    }
    const origin = (address: string) => address.replace(/\/$/, '');

    async function submit(cell: Cell): Promise<void> {
      const body = { model: cell.model, prompt: cell.prompt };
      cell.answer = await service.viewer.ask('POST', '/v1/video/generations', body);
      if (cell.answer.status === 200) cell.id = idOf(cell.answer.body);
    }

    /** Until no task of these cells is unfinished; Veo's are looked at when somebody asks. */
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
          if (vendor === 'veo') await service.viewer.video(id);
        });
        await pause(400);
      }
      const left = (await read()).filter(({ next_poll_at: next }) => next !== null);
      return assert.fail(`unfinished: ${left.map(({ prompt, status }) => `${prompt} ${status}`).join(', ')}`);
    }

    /** Money of one task: what was taken and not given back. */
    async function charged(id: string): Promise<number> {
      const rows = await database.kysely
        .selectFrom('ledger')
        .select(['kind', 'amount'])
        .where('ref', '=', id)
        .execute();
      return -rows.reduce((sum, { amount }) => sum + Number(amount), 0);
    }
    const submitsOf = ({ door, prompt }: Cell) =>
      service.sandbox.control
        .requests({ vendor: door.name, operation: 'submit' })
        .filter((request) => request.body.includes(prompt));
    const jobsOf = ({ door, prompt }: Cell) =>
      service.sandbox.control.jobs(door.name).filter((job) => job.prompt === prompt);

    describe('submit', () => {
      let rows: Map<string, Row>;
      before(async () => {
        await each(cells.submit, (cell) => prepare(cell, true));
        for (const { door, fault, prompt } of cells.submit) {
          if (isWrong(fault) || fault === 'duplicate') continue;
          service.sandbox.control.fault({ ...played(fault), vendor: door.name, operation: 'submit', match: prompt });
        }
        const isRepeat = ({ fault }: Cell) => fault === 'duplicate';
        await each(
          cells.submit.filter((cell) => !isRepeat(cell)),
          submit,
        );
        await each(cells.submit.filter(isRepeat), async (cell) => {
          const vendor = cell.door.name;
          await service.viewer.submit({ model: cell.model, prompt: 'the one before' });
          service.sandbox.control.fault({ kind: 'duplicate', vendor, operation: 'submit' });
          await submit(cell);
        });
        rows = await settle(cells.submit);
      });

      for (const cell of cells.submit) {
        it(`${cell.door.name}: ${cell.fault}`, async () => {
          const row = rows.get(cell.prompt) as Row;
          assert.ok(jobsOf(cell).length <= 1, 'at most one job');
          assert.equal(cell.answer?.status, 200, JSON.stringify(cell.answer?.body));
          const end = endOfSubmit(cell.fault);
          if (end === 'lost') {
            assert.equal(submitsOf(cell).length, 1, 'never sent again');
            const found = LOOKED_UP.has(cell.door.name) && jobsOf(cell).length === 1;
            assert.equal(row.status, found ? 'SUCCESS' : 'FAILURE');
          } else {
            assert.equal(submitsOf(cell).length, end === 'untouched' || isWrong(cell.fault) ? 1 : 2);
            assert.equal(row.status, 'SUCCESS');
          }
          assert.equal((await charged(row.id)) > 0, row.status === 'SUCCESS');
        });
      }
    });

    // What an upstream does to a look or a file is the same on every database; once is enough.
    const describeOnce = (title: string, suite: () => void): void => {
      if (name === 'sqlite') void describe(title, suite);
    };
    describeOnce('query', () => {
      let rows: Map<string, Row>;
      before(async () => {
        await each(cells.query, async (cell) => {
          await prepare(cell, false);
          await submit(cell);
          const job = service.job(cell.door.name, cell.prompt);
          if (!isWrong(cell.fault)) {
            const aim = { vendor: cell.door.name, operation: 'query', match: job.id, times: 2 } as const;
            service.sandbox.control.fault({ ...played(cell.fault), ...aim });
            return;
          }
          const [channel] = cell.channels;
          const address = service.sandbox.url(cell.door.name);
          const put = (to: string) => service.operator.call('PUT', `/api/admin/channels/${channel}`, { base_url: to });
          await put(origin(astray(address, cell.fault)));
          await pause(1_300);
          if (cell.door.letter === 'F') await service.viewer.video(cell.id);
          await put(address);
        });
        rows = await settle(cells.query);
      });

      for (const cell of cells.query) {
        it(`${cell.door.name}: ${cell.fault}`, async () => {
          const row = rows.get(cell.prompt) as Row;
          assert.equal(cell.answer?.status, 200);
          assert.equal(jobsOf(cell).length, 1);
          assert.equal(row.status, 'SUCCESS', 'a failed look says nothing about the task');
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
          const job = service.job(cell.door.name, cell.prompt);
          if (isWrong(cell.fault)) await misplace(cell, cell.fault);
          else
            service.sandbox.control.fault({
              ...played(cell.fault),
              vendor: cell.door.name,
              operation: 'content',
              match: job.id,
            });
          files.set(cell.prompt, await fetchFile(cell));
        });
      });

      /** The file is no longer where it was, or its host cannot be reached. */
      async function misplace(cell: Cell, wrong: Parameters<typeof astray>[1]): Promise<void> {
        const [channel] = cell.channels;
        const address = origin(astray(service.sandbox.url(cell.door.name), wrong));
        await service.operator.call('PUT', `/api/admin/channels/${channel}`, { base_url: address });
        const task = await database.kysely
          .selectFrom('tasks')
          .select(['id', 'artifact'])
          .where('prompt', '=', cell.prompt)
          .executeTakeFirstOrThrow();
        const artifact = JSON.parse(task.artifact ?? '{}') as { kind: string; url?: string };
        if (artifact.url === undefined) return;
        await database.kysely
          .updateTable('tasks')
          .set({ artifact: JSON.stringify({ ...artifact, url: astray(artifact.url, wrong) }) })
          .where('id', '=', task.id)
          .execute();
      }

      async function fetchFile(cell: Cell) {
        const response = await service.viewer.raw(`/v1/videos/${cell.id}/content`);
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
          // Nobody waits for a file that never ends.
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
        it(`${cell.door.name}: ${cell.fault}`, async () => {
          const file = files.get(cell.prompt);
          // Its file comes inside the answer to a query.
          const isInline = cell.door.name === 'veo-vertex' && !isWrong(cell.fault);
          const end = isInline ? 'file' : endOfContent(cell.fault, cell.door.name === 'veo');
          if (end === 'file') assert.deepEqual([file?.status, file?.broken, file?.type], [200, false, 'video/mp4']);
          if (end === 'refused') {
            assert.equal(file?.status, 502, JSON.stringify(file));
            assert.match(String(file?.code), /^(content_unavailable|upstream_error)$/);
          }
          if (end === 'broken') assert.equal(file?.broken, true, JSON.stringify(file));
          if (end === 'cut') assert.ok(file?.broken === true || file?.status === 502, JSON.stringify(file));
          if (end === 'strange') assert.match(String(file?.status), /^(200|502)$/);
          const task = await service.viewer.video(cell.id);
          assert.equal(task.status, 'completed', 'the file’s trouble is not the task’s');
        });
      }
    });

    it('and the books are right after all of it', () => assertBooks(database));
  });
});
