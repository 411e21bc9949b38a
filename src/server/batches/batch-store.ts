import type { Insertable, Selectable, Updateable } from 'kysely';
import { defined } from '../../contract/objects.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Owner } from '../platform/http/route-registry.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { LineState } from './tables.ts';

/** A row of `batches`. */
export type BatchRow = Selectable<Tables['batches']>;
/** A batch with the user name of the member who created it. */
export type NamedBatch = BatchRow & { readonly actor_name: string | null };
/** A row of `batch_lines`. */
export type LineRow = Selectable<Tables['batch_lines']>;
/** Identifies a line. */
export type LineKey = Pick<LineRow, 'batch_id' | 'line'>;
/** A line of an input file, before it is sent. */
export type NewLine = Pick<LineRow, 'line' | 'custom_id' | 'start' | 'bytes'>;

/** Statuses in which a process works on a batch. */
const UNFINISHED = ['validating', 'in_progress', 'finalizing', 'cancelling'] as const;
/** The end of every range of references that begin with a prefix. */
const AFTER_PREFIX = '\u{10ffff}';

/** Tokens of a model call, for the batch's usage. */
export interface LineUsage {
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

/** The outcome of a line. */
export interface LineEnd {
  readonly state: 'completed' | 'failed';
  /** The line of the output or error file. */
  readonly result: string;
  readonly usage?: LineUsage;
}

/** SQL of batches and their lines. Every change of a state is one conditional write. */
export class BatchStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, row: Insertable<Tables['batches']>): Promise<void> {
    await trx.insertInto('batches').values(row).execute();
  }

  find(owner: Owner, id: string): Promise<NamedBatch | undefined> {
    return this.#ofOwner(owner).where('batches.id', '=', id).executeTakeFirst();
  }

  /**
   * Of an organization, only the batches that the member or one of the member's keys created, since their lines hold
   * prompts. Batches of a release before `actor_id` have only their key.
   */
  #ofOwner({ userId, actorId }: Owner) {
    const { kysely } = this.#database;
    const query = kysely
      .selectFrom('batches')
      .selectAll()
      .select((row) =>
        row.selectFrom('accounts').select('username').whereRef('accounts.id', '=', 'batches.actor_id').as('actor_name'),
      )
      .where('user_id', '=', userId);
    if (actorId === undefined) return query;
    const ownKeys = kysely.selectFrom('tokens').select('id').where('actor_id', '=', actorId);
    return query.where(({ and, eb, or }) =>
      or([eb('actor_id', '=', actorId), and([eb('actor_id', 'is', null), eb('token_id', 'in', ownKeys)])]),
    );
  }

  /** Whom a batch acts for. */
  async findOwner({ user_id: userId, token_id: tokenId, actor_id: actorId }: BatchRow): Promise<Owner> {
    if (actorId !== null) return { userId, actorId };
    const key = await this.#database.kysely
      .selectFrom('tokens')
      .select('actor_id')
      .where('id', '=', tokenId)
      .executeTakeFirst();
    return defined({ userId, actorId: key?.actor_id ?? undefined });
  }

  findById(id: string, executor: Executor = this.#database.kysely): Promise<BatchRow | undefined> {
    return executor.selectFrom('batches').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Newest first, behind the row `after`. */
  async list(owner: Owner, after: string | undefined, limit: number): Promise<NamedBatch[]> {
    let query = this.#ofOwner(owner);
    if (after !== undefined) {
      const last = await this.find(owner, after);
      if (last === undefined) return [];
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), '<', tuple(last.created_at, last.id)),
      );
    }
    return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /**
   * Marks a batch as repeated by another one. Of concurrent callers that read the same `retried_as`, one succeeds.
   */
  async claimRetry(
    trx: Trx,
    { id, retried_as: before }: Pick<BatchRow, 'id' | 'retried_as'>,
    retry: string,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('batches')
        .set({ retried_as: retry })
        .where('id', '=', id)
        .where('retried_as', before === null ? 'is' : '=', before)
        .executeTakeFirst(),
    );
  }

  /** Unfinished batches of an account. */
  async countUnfinished(userId: number): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('batches')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('user_id', '=', userId)
      .where('status', 'in', UNFINISHED)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Changes a batch while it is in one of the statuses. @returns whether it was */
  async change(
    executor: Executor,
    id: string,
    from: readonly BatchRow['status'][],
    set: Updateable<Tables['batches']>,
  ): Promise<boolean> {
    return wasChanged(
      await executor
        .updateTable('batches')
        .set(set)
        .where('id', '=', id)
        .where('status', 'in', from)
        .executeTakeFirst(),
    );
  }

  /** As {@link change}, by the process that holds the lease. */
  async changeHeld(
    executor: Executor,
    { id, owner }: { readonly id: string; readonly owner: string },
    from: readonly BatchRow['status'][],
    set: Updateable<Tables['batches']>,
  ): Promise<boolean> {
    return wasChanged(
      await executor
        .updateTable('batches')
        .set(set)
        .where('id', '=', id)
        .where('status', 'in', from)
        .where('lease_owner', '=', owner)
        .executeTakeFirst(),
    );
  }

  /** Unfinished batches that no process holds, the one that waits longest first. */
  async listUnheld(now: number, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('batches')
      .select('id')
      .where('status', 'in', UNFINISHED)
      .where('lease_until', '<=', now)
      .orderBy('lease_until')
      .limit(limit)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** @returns whether the lease was free */
  async lease(id: string, owner: string, now: number, until: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .updateTable('batches')
        .set({ lease_owner: owner, lease_until: until })
        .where('id', '=', id)
        .where('status', 'in', UNFINISHED)
        .where('lease_until', '<=', now)
        .executeTakeFirst(),
    );
  }

  /** @returns whether the process still holds the lease */
  async renew(id: string, owner: string, until: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .updateTable('batches')
        .set({ lease_until: until })
        .where('id', '=', id)
        .where('lease_owner', '=', owner)
        .executeTakeFirst(),
    );
  }

  /** Ends a lease; among the batches that wait for a process, this one is the last. */
  async release(id: string, owner: string, now: number): Promise<void> {
    await this.#database.kysely
      .updateTable('batches')
      .set({ lease_until: now })
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .execute();
  }

  async deleteLines(executor: Executor, id: string): Promise<void> {
    await executor.deleteFrom('batch_lines').where('batch_id', '=', id).execute();
  }

  async insertLines(trx: Trx, id: string, lines: readonly NewLine[]): Promise<void> {
    await trx
      .insertInto('batch_lines')
      .values(lines.map((line) => ({ ...line, batch_id: id, state: 'pending', owner: null, ref: null, result: null })))
      .execute();
  }

  /** Pending lines in order. @param after the last line that is already known */
  listPending(id: string, after: number, limit: number): Promise<LineRow[]> {
    return this.#inState(id, ['pending']).where('line', '>', after).orderBy('line').limit(limit).execute();
  }

  /** Lines whose model call was sent and whose end is not stored. */
  listSending(id: string, limit: number): Promise<LineRow[]> {
    return this.#inState(id, ['sending']).limit(limit).execute();
  }

  /** Ended lines whose charge is not final. */
  listUnsettled(id: string, limit: number): Promise<LineRow[]> {
    return this.#inState(id, ['completed', 'failed']).where('is_settled', '=', 0).limit(limit).execute();
  }

  /** Running lines with videos that have ended. */
  async listEnded(id: string, limit: number): Promise<LineRow[]> {
    return this.#database.kysely
      .selectFrom('batch_lines')
      .innerJoin('tasks', 'tasks.id', 'batch_lines.ref')
      .selectAll('batch_lines')
      .where('batch_id', '=', id)
      .where('state', '=', 'running')
      .where('tasks.status', 'in', ['SUCCESS', 'FAILURE'])
      .limit(limit)
      .execute();
  }

  /** The tasks of running lines that wait for a slot. */
  async listWaiting(id: string, limit: number): Promise<(LineRow & { readonly ref: string })[]> {
    const rows = await this.#database.kysely
      .selectFrom('batch_lines')
      .innerJoin('tasks', 'tasks.id', 'batch_lines.ref')
      .selectAll('batch_lines')
      .where('batch_id', '=', id)
      .where('state', '=', 'running')
      .where('tasks.status', '=', 'NOT_START')
      .where('tasks.next_poll_at', 'is', null)
      .limit(limit)
      .execute();
    return rows as (LineRow & { readonly ref: string })[];
  }

  async countIn(id: string, states: readonly LineState[]): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('batch_lines')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('batch_id', '=', id)
      .where('state', 'in', states)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Results in the order of the lines. */
  async listResults(
    id: string,
    state: 'completed' | 'failed',
    after: number,
    limit: number,
  ): Promise<Pick<LineRow, 'line' | 'result'>[]> {
    return this.#database.kysely
      .selectFrom('batch_lines')
      .select(['line', 'result'])
      .where('batch_id', '=', id)
      .where('state', '=', state)
      .where('line', '>', after)
      .orderBy('line')
      .limit(limit)
      .execute();
  }

  /** All lines in order, for the sheet of results and for a repetition. */
  listLines(id: string, after: number, limit: number, states?: readonly LineState[]): Promise<LineRow[]> {
    let query = this.#database.kysely.selectFrom('batch_lines').selectAll().where('batch_id', '=', id);
    if (states !== undefined) query = query.where('state', 'in', states);
    return query.where('line', '>', after).orderBy('line').limit(limit).execute();
  }

  /**
   * Moves a line, and its part of the batch's spending to `amount`.
   * @returns whether it was in one of the states
   */
  async moveLine(
    trx: Trx,
    { batch_id, line }: LineKey,
    from: {
      readonly states: readonly LineState[];
      readonly owner?: string;
      readonly ref?: string;
      readonly isSettled?: 0;
    },
    set: Updateable<Tables['batch_lines']>,
  ): Promise<boolean> {
    let query = trx
      .updateTable('batch_lines')
      .set(set)
      .where('batch_id', '=', batch_id)
      .where('line', '=', line)
      .where('state', 'in', from.states);
    if (from.owner !== undefined) query = query.where('owner', '=', from.owner);
    if (from.ref !== undefined) query = query.where('ref', '=', from.ref);
    if (from.isSettled !== undefined) query = query.where('is_settled', '=', from.isSettled);
    return wasChanged(await query.executeTakeFirst());
  }

  /** Adds to the spending while lines may start. @returns false if the budget does not cover it, or no line may start */
  async spend(
    trx: Trx,
    { id, owner }: { readonly id: string; readonly owner: string },
    amount: number,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('batches')
        .set(({ eb }) => ({ spent: eb('spent', '+', amount) }))
        .where('id', '=', id)
        .where('lease_owner', '=', owner)
        .where('status', '=', 'in_progress')
        .where(({ eb, or }) => or([eb('budget', 'is', null), eb(eb('spent', '+', amount), '<=', eb.ref('budget'))]))
        .executeTakeFirst(),
    );
  }

  /** Counts the end of a line. */
  async countEnd(
    trx: Trx,
    id: string,
    { state, usage, released }: Pick<LineEnd, 'state' | 'usage'> & { readonly released: number },
  ): Promise<void> {
    await trx
      .updateTable('batches')
      .set(({ eb }) => ({
        [state]: eb(state, '+', 1),
        spent: eb('spent', '-', released),
        input_tokens: eb('input_tokens', '+', usage?.input_tokens ?? 0),
        cached_tokens: eb('cached_tokens', '+', usage?.cached_tokens ?? 0),
        output_tokens: eb('output_tokens', '+', usage?.output_tokens ?? 0),
        reasoning_tokens: eb('reasoning_tokens', '+', usage?.reasoning_tokens ?? 0),
      }))
      .where('id', '=', id)
      .execute();
  }

  async unspend(trx: Trx, id: string, amount: number): Promise<void> {
    if (amount === 0) return;
    await trx
      .updateTable('batches')
      .set(({ eb }) => ({ spent: eb('spent', '-', amount) }))
      .where('id', '=', id)
      .execute();
  }

  /** Ends lines that will not be sent. @returns how many */
  async failPending(trx: Trx, id: string, lines: readonly { readonly line: number; readonly result: string }[]) {
    let failed = 0;
    for (const { line, result } of lines)
      if (
        await this.moveLine(
          trx,
          { batch_id: id, line },
          { states: ['pending'] },
          { state: 'failed', result, is_settled: 1 },
        )
      )
        failed++;
    if (failed > 0)
      await trx
        .updateTable('batches')
        .set(({ eb }) => ({ failed: eb('failed', '+', failed) }))
        .where('id', '=', id)
        .execute();
    return failed;
  }

  /**
   * The final charge of the work behind a reference; undefined while its reservation is open.
   * @param ref the whole reference of a video, the beginning of a model call's
   */
  async findCharge(executor: Executor, ref: string): Promise<number | undefined> {
    const open = await this.listReservations(executor, ref);
    if (open.length > 0) return undefined;
    const { charged } = await executor
      .selectFrom('ledger')
      .select(({ fn }) => fn.sum<number | null>('charged').as('charged'))
      .where('ref', '>=', ref)
      .where('ref', '<', ref + AFTER_PREFIX)
      .where('kind', '=', 'settle')
      .executeTakeFirstOrThrow();
    return Number(charged ?? 0);
  }

  /** Open reservations whose reference begins with `ref`. */
  async listReservations(executor: Executor, ref: string): Promise<string[]> {
    const rows = await executor
      .selectFrom('reservations')
      .select('ref')
      .where('ref', '>=', ref)
      .where('ref', '<', ref + AFTER_PREFIX)
      .execute();
    return rows.map((row) => row.ref);
  }

  /** The reserved amount of a task, inside the transaction that stores it. */
  async priceOf(trx: Trx, taskId: string): Promise<number> {
    const { price } = await trx.selectFrom('tasks').select('price').where('id', '=', taskId).executeTakeFirstOrThrow();
    return price;
  }

  /** Keeps an input file until `expiresAt` at least. */
  async keepFile(executor: Executor, fileId: string, expiresAt: number): Promise<void> {
    await executor
      .updateTable('files')
      .set({ expires_at: expiresAt })
      .where('id', '=', fileId)
      .where('expires_at', '<', expiresAt)
      .execute();
    await executor
      .updateTable('artifacts')
      .set({ expires_at: expiresAt })
      .where('task_id', '=', fileId)
      .where('variant', '=', 'upload')
      .where('expires_at', '<', expiresAt)
      .execute();
  }

  /** Lets an input file expire with the other files of its batch, unless another batch still reads it. */
  async expireFile(executor: Executor, fileId: string, expiresAt: number): Promise<void> {
    const other = await executor
      .selectFrom('batches')
      .select('id')
      .where('input_file_id', '=', fileId)
      .where('status', 'in', UNFINISHED)
      .limit(1)
      .executeTakeFirst();
    if (other !== undefined) return;
    await executor.updateTable('files').set({ expires_at: expiresAt }).where('id', '=', fileId).execute();
    await executor
      .updateTable('artifacts')
      .set({ expires_at: expiresAt })
      .where('task_id', '=', fileId)
      .where('variant', '=', 'upload')
      .execute();
  }

  /** Batches by status, and lines of unfinished ones by state, for the metrics. */
  async figures(): Promise<{ readonly batches: readonly Count[]; readonly lines: readonly Count[] }> {
    const { kysely } = this.#database;
    const batches = await kysely
      .selectFrom('batches')
      .select(({ fn }) => ['status as name', fn.countAll<number>().as('count')])
      .where('status', 'in', UNFINISHED)
      .groupBy('status')
      .execute();
    const lines = await kysely
      .selectFrom('batches')
      .innerJoin('batch_lines', 'batch_lines.batch_id', 'batches.id')
      .select(({ fn }) => ['batch_lines.state as name', fn.countAll<number>().as('count')])
      .where('batches.status', 'in', UNFINISHED)
      .where('batch_lines.state', 'in', ['pending', 'sending', 'running'])
      .groupBy('batch_lines.state')
      .execute();
    return { batches, lines };
  }

  /** Deletes the lines of batches that ended before `time`, and the batches of removed accounts. */
  async deleteEnded(time: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely
      .deleteFrom('batch_lines')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('batches')
            .select('id')
            .whereRef('batches.id', '=', 'batch_lines.batch_id')
            .where('status', 'not in', UNFINISHED)
            .where('created_at', '<', time)
            .where(({ eb, fn }) =>
              eb(fn.coalesce('completed_at', 'failed_at', 'expired_at', 'cancelled_at', 'created_at'), '<', time),
            ),
        ),
      )
      .execute();
    await kysely
      .deleteFrom('batches')
      .where('status', 'not in', UNFINISHED)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'batches.user_id')
            .where('accounts.removed_at', 'is not', null),
        ),
      )
      .execute();
  }

  #inState(id: string, states: readonly LineState[]) {
    return this.#database.kysely
      .selectFrom('batch_lines')
      .selectAll()
      .where('batch_id', '=', id)
      .where('state', 'in', states);
  }
}

interface Count {
  readonly name: string;
  readonly count: number;
}
