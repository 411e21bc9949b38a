import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { BATCH_KEPT_DAYS } from '../../contract/batches.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { FileService } from '../files/file-service.ts';
import { isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import type { Video } from '../video/module.ts';
import type { OnFaultPoint } from '../video/task-completion.ts';
import type { BatchRow, BatchStore, LineRow, NewLine } from './batch-store.ts';
import {
  cleanLine,
  failureOf,
  InputCheck,
  type LineErrorCode,
  type LineRequest,
  type LineSender,
  parseLine,
  readLines,
  toLineEnd,
  toLineError,
} from './line-sender.ts';

interface BatchRunnerDependencies {
  readonly database: Database<Tables>;
  readonly store: BatchStore;
  readonly sender: LineSender;
  readonly files: Pick<FileService, 'open' | 'write'>;
  readonly ledger: Pick<Ledger, 'refund' | 'grant'>;
  readonly video: Pick<Video, 'services' | 'store' | 'queue'>;
  /** Called in the transaction that completes a batch. */
  readonly onEnded: (trx: Trx, batch: BatchRow) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly faultPoint: OnFaultPoint;
}

/** A lease not renewed for this long belongs to a dead or stalled process; another process takes over. */
const LEASE_MS = 8_000;
const RENEW_MS = 2_500;
/** Batches leased by one process at a time. */
const MAX_HELD = 16;
/** After this time a process releases a batch if another one is waiting for a process. */
const TURN_MS = 3_000;
/** Lines of a batch in flight at a time; the rest of the capacity is for interactive calls. */
const MAX_SENDING = 8;
/** Queued videos of a batch; more would only fill the account's queue. */
const MAX_WAITING = 8;
/** Videos of a batch in progress. */
const MAX_RUNNING = 500;
const LOOK_MS = 500;
/** Lines and bytes of the input file read in one step. */
const READ_LINES = 64;
const READ_BYTES = 16 * 1024 ** 2;
const CHUNK = 500;
/** Results read in one step; a single one can have several megabytes. */
const READ_RESULTS = 16;
const STORAGE_RETRY_MS = 60_000;
const SEND_RETRY_MS = 5_000;
/** Interval at which finished videos and charges are collected. */
const COLLECT_MS = 300;

/** Time column of each final status. */
const ENDS = {
  completed: 'completed_at',
  expired: 'expired_at',
  cancelled: 'cancelled_at',
} as const satisfies Record<NonNullable<BatchRow['ending']>, keyof BatchRow>;

/** Error code of the lines still pending when a batch ends. */
const PENDING_ERRORS: Readonly<Record<NonNullable<BatchRow['ending']>, LineErrorCode>> = {
  completed: 'budget_reached',
  expired: 'batch_expired',
  cancelled: 'batch_cancelled',
};

/** A batch leased by this process. */
interface HeldBatch {
  readonly id: string;
  /** Identifies the lease; a later lease of the same process has another one. */
  readonly owner: string;
  /** Lines read but not sent yet. */
  readonly ready: { readonly line: LineRow; readonly request: LineRequest }[];
  /** Lines in flight, by number. */
  readonly sending: Map<number, Promise<void>>;
  /** Number of the last line read. */
  cursor: number;
  /**
   * Whether the budget covers more lines. A line it did not cover is retried alone after all running lines have ended,
   * since each of them may release money.
   */
  budget: 'open' | 'blocked' | 'last-try' | 'reached';
  /** Time at which finished videos and charges were last collected. */
  collectedAt: number;
  isRecovered: boolean;
  isLost: boolean;
  /** Time before which no line is sent, after one whose outcome could not be stored. */
  pausedUntil: number;
}

/**
 * Runs batches: checks input files, sends lines, collects finished videos and writes the result files. A lease assigns
 * a batch to one process, and every write is conditional on the lease or on the state of a line, so that a stalled
 * process changes nothing.
 */
export class BatchRunner {
  readonly #dependencies: BatchRunnerDependencies;
  readonly #held = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  /** Whether batches wait for a process that has room. */
  #isCrowded = false;
  #looks: Promise<void> | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(dependencies: BatchRunnerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Works on batches until `stop`. */
  start(): void {
    this.#looks = this.#lookUntilStopped();
  }

  /** Looks for new work now. */
  wake(): void {
    const { resolve } = this.#wake;
    // At once: with a promise that stays resolved, a batch that only reads would never let the event loop run.
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }

  /** Starts nothing more, and waits at most `graceMs` for the lines that are being sent. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.wake();
    await this.#looks;
    await Promise.race([Promise.all(this.#held.values()), pause(graceMs, undefined, { ref: false })]);
  }

  async #lookUntilStopped(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const woken = this.#wake.promise;
      await this.#look().catch((error: unknown) => this.#dependencies.log.warn({ err: error }, 'batches not read'));
      await this.#sleep(LOOK_MS, woken);
    }
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#dependencies;
    const room = MAX_HELD - this.#held.size;
    const now = clock.now();
    const unheld = await store.listUnheld(now, Math.max(1, room));
    this.#isCrowded = room <= 0 && unheld.length > 0;
    if (room <= 0) return;
    for (const id of unheld) {
      const owner = randomUUID();
      if (this.#held.has(id) || !(await store.lease(id, owner, now, now + LEASE_MS))) continue;
      const held: HeldBatch = {
        ...{ id, owner, ready: [], sending: new Map(), cursor: 0 },
        ...{ budget: 'open', collectedAt: 0, isRecovered: false, isLost: false, pausedUntil: 0 },
      };
      this.#held.set(
        id,
        this.#work(held).finally(() => void this.#held.delete(id)),
      );
    }
  }

  async #work(held: HeldBatch): Promise<void> {
    const { store, clock, log } = this.#dependencies;
    const renewal = setInterval(() => {
      const now = clock.now();
      store.renew(held.id, held.owner, now + LEASE_MS).then(
        (isOurs) => {
          held.isLost ||= !isOurs;
        },
        () => {},
      );
    }, RENEW_MS);
    const turnEndsAt = clock.now() + TURN_MS;
    const hasTurn = (): boolean => !this.#isCrowded || clock.now() < turnEndsAt;
    try {
      while (!this.#stopping.signal.aborted && !held.isLost && hasTurn()) {
        const woken = this.#wake.promise;
        const isOver = await this.#advance(held).catch((error: unknown) => {
          log.warn({ err: error, batch: held.id }, 'a batch could not be advanced');
          return false;
        });
        if (isOver) break;
        const sleep = this.#sleep(held.sending.size > 0 ? LOOK_MS / 2 : LOOK_MS, woken);
        await Promise.race([...held.sending.values(), sleep]);
      }
      await Promise.all(held.sending.values());
    } finally {
      clearInterval(renewal);
      await store.release(held.id, held.owner, clock.now()).catch(() => {});
    }
  }

  /** One step. @returns whether the batch has ended */
  async #advance(held: HeldBatch): Promise<boolean> {
    const batch = await this.#dependencies.store.findById(held.id);
    if (batch === undefined || batch.lease_owner !== held.owner) return true;
    if (batch.status === 'validating') return this.#validate(batch, held);
    if (batch.status === 'in_progress') return this.#progress(batch, held);
    if (batch.status === 'finalizing' || batch.status === 'cancelling') return this.#end(batch, held);
    return true;
  }

  /** Reads the input file and stores the positions of its lines. An interrupted check starts over. */
  async #validate(batch: BatchRow, held: HeldBatch): Promise<boolean> {
    const { database, store, files, clock, faultPoint } = this.#dependencies;
    const check = new InputCheck(batch.endpoint);
    const save = (lines: readonly NewLine[]) =>
      database.transaction(async (trx) => {
        if (!(await store.changeHeld(trx, held, ['validating'], { retry_at: 0 }))) throw new LeaseLostError();
        if (lines.length > 0) await store.insertLines(trx, batch.id, lines);
      });
    await database.transaction(async (trx) => {
      if (!(await store.changeHeld(trx, held, ['validating'], { retry_at: 0 }))) throw new LeaseLostError();
      await store.deleteLines(trx, batch.id);
    });
    let lines: NewLine[] = [];
    const opened = await files.open({ userId: batch.user_id }, batch.input_file_id, {}).catch((error: unknown) => {
      if (isAppError(error, 'file_not_found')) return undefined;
      throw error;
    });
    for await (const found of opened === undefined ? [] : readLines(opened.body as AsyncIterable<Buffer>)) {
      const line = check.push(found);
      if (line !== undefined) lines.push(line);
      if (lines.length >= CHUNK) {
        await save(lines);
        lines = [];
      }
      if (check.isStopped) break;
    }
    opened?.body.destroy();
    faultPoint('batch-half-checked');
    const missing = {
      code: 'file_not_found',
      line: null,
      message: 'The input file does not exist.',
      param: 'input_file_id',
    };
    const defects = opened === undefined ? [missing] : check.end();
    const now = clock.now();
    await save(lines);
    if (defects.length === 0) {
      const set = {
        status: 'in_progress',
        in_progress_at: now,
        total: check.lineCount,
        model: check.model ?? null,
      } as const;
      await store.changeHeld(database.kysely, held, ['validating'], set);
      return false;
    }
    const errors = JSON.stringify({ object: 'list', data: defects });
    await this.#close(batch, held, { status: 'failed', failed_at: now, errors });
    return true;
  }

  async #progress(batch: BatchRow, held: HeldBatch): Promise<boolean> {
    const { store, database, clock } = this.#dependencies;
    await this.#recover(held);
    const now = clock.now();
    const finish = (ending: NonNullable<BatchRow['ending']>) =>
      store.changeHeld(database.kysely, held, ['in_progress'], { status: 'finalizing', finalizing_at: now, ending });
    if (now >= batch.expires_at) await finish('expired');
    else if (batch.paused_at === null && Math.max(batch.retry_at, held.pausedUntil) <= now)
      await this.#fill(batch, held);
    if (Math.abs(now - held.collectedAt) < COLLECT_MS) return false;
    held.collectedAt = now;
    await this.#collect(held);
    const unsettled = await this.#settle(held.id);
    const isBusy = held.sending.size > 0 || unsettled > 0 || (await store.countIn(held.id, ['running', 'sending'])) > 0;
    if (isBusy) return false;
    if ((await store.countIn(held.id, ['pending'])) === 0 || held.budget === 'reached') await finish('completed');
    else if (held.budget === 'blocked') held.budget = 'last-try';
    return false;
  }

  /** Sends lines as long as there is room. */
  async #fill(batch: BatchRow, held: HeldBatch): Promise<void> {
    for (let room = await this.#roomOf(batch, held); room > 0 && held.budget !== 'blocked'; room--) {
      if (held.ready.length === 0) await this.#read(batch, held);
      const next = held.ready.shift();
      if (next === undefined) return;
      const sent = this.#send(batch, held, next).finally(() => void held.sending.delete(next.line.line));
      held.sending.set(next.line.line, sent);
    }
  }

  async #roomOf({ id, endpoint }: BatchRow, { sending, budget }: HeldBatch): Promise<number> {
    const { store } = this.#dependencies;
    if (budget !== 'open') return budget === 'last-try' && sending.size === 0 ? 1 : 0;
    const room = MAX_SENDING - sending.size;
    if (room <= 0 || endpoint !== '/v1/videos') return room;
    const waiting = await store.listWaiting(id, MAX_WAITING);
    const running = await store.countIn(id, ['running']);
    return Math.min(room, MAX_WAITING - waiting.length - sending.size, MAX_RUNNING - running - sending.size);
  }

  async #send(batch: BatchRow, held: HeldBatch, next: HeldBatch['ready'][number]): Promise<void> {
    const { sender, store, database, clock, log } = this.#dependencies;
    try {
      const outcome = await sender.send(batch, held, next.line, next.request);
      if (outcome === 'ended' || outcome === 'started') {
        if (held.budget === 'last-try') held.budget = 'open';
        return;
      }
      // A line refused for now is read again after the others, which may be for a vendor that accepts them.
      if (outcome === 'blocked' || held.budget !== 'open') {
        held.ready.unshift(next);
        held.ready.sort((one, other) => one.line.line - other.line.line);
      }
      if (outcome === 'blocked') held.budget = held.budget === 'last-try' ? 'reached' : 'blocked';
      else
        await store.changeHeld(database.kysely, held, ['in_progress'], {
          retry_at: clock.now() + outcome.retryAfterMs,
        });
    } catch (error) {
      log.warn({ err: error, batch: held.id, line: next.line.line }, 'a line of a batch could not be sent');
      held.cursor = 0;
      held.ready.length = 0;
      held.isRecovered = false;
      // With a full disk, the next attempt fails at once too.
      held.pausedUntil = clock.now() + SEND_RETRY_MS;
    }
  }

  /** Reads the next pending lines with their requests; after the last one, from the first again. */
  async #read(batch: BatchRow, held: HeldBatch): Promise<void> {
    const { store, files } = this.#dependencies;
    const pending = (await store.listPending(held.id, held.cursor, READ_LINES)).filter(
      ({ line }) => !held.sending.has(line),
    );
    const [first] = pending;
    if (first === undefined) {
      held.cursor = 0;
      return;
    }
    const lines = pending.filter(({ start, bytes }, index) => index === 0 || start + bytes - first.start <= READ_BYTES);
    const last = lines.at(-1) ?? first;
    const range = `bytes=${first.start}-${last.start + last.bytes - 1}`;
    const opened = await files
      .open({ userId: batch.user_id }, batch.input_file_id, { range })
      .catch((error: unknown) => {
        if (isAppError(error, 'file_not_found')) return undefined;
        throw error;
      });
    if (opened === undefined) return this.#failPending(batch, 'input_file_not_found');
    const bytes = await buffer(opened.body);
    for (const line of lines) {
      const from = line.start - first.start;
      const request = parseLine(cleanLine(bytes.subarray(from, from + line.bytes), line.line), batch.endpoint);
      if ('code' in request) throw new Error(`line ${line.line} has changed since its file was checked`);
      held.ready.push({ line, request });
    }
    held.cursor = last.line;
  }

  /**
   * Fails lines whose responses are lost, since sending them again could run a call twice: calls of a dead process, and
   * calls whose outcome this process could not store.
   */
  async #recover(held: HeldBatch): Promise<void> {
    if (held.isRecovered) return;
    held.isRecovered = true;
    // Excludes lines sent from now on.
    const inFlight = new Set(held.sending.keys());
    try {
      for (const line of await this.#dependencies.store.listSending(held.id, CHUNK))
        if (!inFlight.has(line.line)) await this.#interrupt(line);
    } catch (error) {
      held.isRecovered = false;
      throw error;
    }
  }

  async #interrupt(line: LineRow): Promise<void> {
    const { database, store, ledger } = this.#dependencies;
    const { batch_id: id, ref } = line;
    const batch = await store.findById(id);
    if (batch === undefined || ref === null) return;
    for (const each of await store.listReservations(database.kysely, ref))
      await database.transaction((trx) => ledger.refund(trx, each));
    await database.transaction(async (trx) => {
      const charged = (await store.findCharge(trx, ref)) ?? 0;
      const end = toLineError(line, 'interrupted');
      const set = { ...end, owner: null, amount: 0, is_settled: 1 } as const;
      if (!(await store.moveLine(trx, line, { states: ['sending'], owner: line.owner ?? '' }, set))) return;
      await store.countEnd(trx, id, { ...end, released: line.amount });
      const grant = { userId: batch.user_id, amount: charged, ref: `${id}:${line.line}`, note: 'interrupted' };
      if (charged > 0) await ledger.grant(trx, grant);
    });
  }

  /** Completes the lines whose videos have finished. */
  async #collect(held: HeldBatch): Promise<void> {
    const { store, video, sender, database } = this.#dependencies;
    for (const line of await store.listEnded(held.id, CHUNK)) {
      // The outcome of a submit in progress is its sender's to judge.
      if (held.sending.has(line.line) || line.ref === null) continue;
      const task = await video.store.findById(line.ref);
      const charge = await store.findCharge(database.kysely, line.ref);
      if (task === undefined || charge === undefined) continue;
      const origin = task.remixed_from === null ? undefined : await video.store.findById(task.remixed_from);
      const body = video.services.renderer.complete(task, origin?.public_id);
      const error = task.status === 'SUCCESS' ? null : failureOf(body);
      const end = toLineEnd(line, { status: 200, requestId: task.id, body }, error);
      await sender.finish(line, { state: 'running', ref: line.ref }, { ...end, charge });
    }
  }

  /** Replaces the reservations of ended model calls by their charges. @returns how many are still open */
  async #settle(id: string): Promise<number> {
    const { store, database } = this.#dependencies;
    let open = 0;
    for (const line of await store.listUnsettled(id, CHUNK)) {
      const charge = line.ref === null ? 0 : await store.findCharge(database.kysely, line.ref);
      if (charge === undefined) {
        open++;
        continue;
      }
      await database.transaction(async (trx) => {
        const set = { amount: charge, is_settled: 1 } as const;
        if (await store.moveLine(trx, line, { states: ['completed', 'failed'], isSettled: 0 }, set))
          await store.unspend(trx, id, line.amount - charge);
      });
    }
    return open;
  }

  /** Sends nothing more, waits for the running lines, and writes the files. @returns whether the batch has ended */
  async #end(batch: BatchRow, held: HeldBatch): Promise<boolean> {
    const { store, video } = this.#dependencies;
    const ending = batch.status === 'cancelling' ? 'cancelled' : (batch.ending ?? 'completed');
    await this.#recover(held);
    // The check of the file was interrupted: the stored lines are incomplete.
    if (batch.in_progress_at === null) await store.deleteLines(this.#dependencies.database.kysely, batch.id);
    await this.#failPending(batch, PENDING_ERRORS[ending]);
    if (ending !== 'completed')
      for (const { ref } of await store.listWaiting(held.id, CHUNK)) {
        const task = await video.store.findById(ref);
        if (task !== undefined) await video.queue.cancel(task);
      }
    await this.#collect(held);
    const unsettled = await this.#settle(held.id);
    const open = await store.countIn(held.id, ['pending', 'sending', 'running']);
    if (held.sending.size > 0 || unsettled > 0 || open > 0) return false;
    if (batch.retry_at > this.#dependencies.clock.now()) return false;
    try {
      await this.#writeFile(batch, held, 'output', 'completed');
      this.#dependencies.faultPoint('batch-half-written');
      await this.#writeFile(batch, held, 'error', 'failed');
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      // Each attempt writes a file of up to gigabytes and leaves a row to be removed.
      this.#dependencies.log.warn({ err: error, batch: held.id }, 'the files of a batch could not be written');
      const retryAt = this.#dependencies.clock.now() + STORAGE_RETRY_MS;
      await store.changeHeld(this.#dependencies.database.kysely, held, [batch.status], { retry_at: retryAt });
      return false;
    }
    await this.#close(batch, held, { status: ending, [ENDS[ending]]: this.#dependencies.clock.now() });
    return true;
  }

  async #failPending(batch: BatchRow, code: LineErrorCode): Promise<void> {
    const { store, database } = this.#dependencies;
    for (;;) {
      const lines = await store.listPending(batch.id, 0, CHUNK);
      if (lines.length === 0) return;
      const ended = lines.map((line) => ({ line: line.line, result: toLineError(line, code).result }));
      await database.transaction((trx) => store.failPending(trx, batch.id, ended));
    }
  }

  /** Writes a result file once: its row and its id in the batch are one transaction. */
  async #writeFile(
    batch: BatchRow,
    held: HeldBatch,
    kind: 'output' | 'error',
    state: 'completed' | 'failed',
  ): Promise<void> {
    const { store, files } = this.#dependencies;
    if (batch[`${kind}_file_id`] !== null || (await store.countIn(batch.id, [state])) === 0) return;
    const file = {
      filename: `${batch.id}_${kind}.jsonl`,
      purpose: 'batch_output',
      lifetimeMs: batch.output_lifetime_ms ?? BATCH_KEPT_DAYS * DAY_MS,
    } as const;
    await files.write(await store.findOwner(batch), file, this.#results(batch.id, state), async (trx, id) => {
      if (!(await store.changeHeld(trx, held, [batch.status], { [`${kind}_file_id`]: id }))) throw new LeaseLostError();
    });
  }

  async *#results(id: string, state: 'completed' | 'failed'): AsyncGenerator<string> {
    let after = 0;
    for (;;) {
      const rows = await this.#dependencies.store.listResults(id, state, after, READ_RESULTS);
      for (const { result } of rows) yield `${result}\n`;
      after = rows.at(-1)?.line ?? after;
      if (rows.length < READ_RESULTS) return;
    }
  }

  /** Completes the batch; its input file is kept as long as the result files. */
  async #close(batch: BatchRow, held: HeldBatch, set: Parameters<BatchStore['changeHeld']>[3]): Promise<void> {
    const { store, database, clock, onEnded } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await store.changeHeld(trx, held, [batch.status], set))) throw new LeaseLostError();
      if (set.status === 'failed') await store.deleteLines(trx, batch.id);
      await store.expireFile(trx, batch.input_file_id, clock.now() + BATCH_KEPT_DAYS * DAY_MS);
      const ended = await store.findById(batch.id, trx);
      if (ended !== undefined) await onEnded(trx, ended);
    });
  }

  /** @param woken the wake-up that was expected before the work, so that one during the work is not missed */
  #sleep(ms: number, woken: Promise<void>): Promise<unknown> {
    return Promise.race([pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => {}), woken]);
  }
}

/** Another process works on the batch, or its owner has cancelled it. */
class LeaseLostError extends Error {}
