import type { Insertable, Selectable } from 'kysely';
import type { Page } from '../../contract/responses.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';

/** A row of `organization_transfers`. */
type TransferRow = Selectable<Tables['organization_transfers']>;

/** A transfer with the user name of its account. */
export type ShownTransfer = TransferRow & { readonly username: string | null };

const UNFINISHED_BATCHES = ['validating', 'in_progress', 'finalizing', 'cancelling'] as const;

/** SQL of transfers: what an account owns becomes an organization's, and the account its author. */
export class TransferStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns undefined if another transfer of the account is running */
  async insert(trx: Trx, row: Insertable<Tables['organization_transfers']>): Promise<number | undefined> {
    const inserted = await trx
      .insertInto('organization_transfers')
      .values(row)
      .onConflict((conflict) => conflict.column('running_user_id').doNothing())
      .returning('id')
      .executeTakeFirst();
    return inserted?.id;
  }

  /** The transfer, locked until the commit while it is running, so that two processes do not move the same rows. */
  lockRunning(trx: Trx, id: number): Promise<TransferRow | undefined> {
    return trx
      .selectFrom('organization_transfers')
      .selectAll()
      .where('id', '=', id)
      .where('finished_at', 'is', null)
      .forUpdate()
      .executeTakeFirst();
  }

  find(id: number): Promise<ShownTransfer> {
    return this.#shown().where('organization_transfers.id', '=', id).executeTakeFirstOrThrow();
  }

  #shown() {
    return this.#database.kysely
      .selectFrom('organization_transfers')
      .leftJoin('accounts', 'accounts.id', 'organization_transfers.user_id')
      .selectAll('organization_transfers')
      .select('accounts.username');
  }

  async listRunning(): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('organization_transfers')
      .select('id')
      .where('running_user_id', 'is not', null)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Transfers to an organization, newest first. */
  async list(organizationId: number, page: Page): Promise<{ rows: ShownTransfer[]; total: number }> {
    const all = this.#database.kysely
      .selectFrom('organization_transfers')
      .where('organization_id', '=', organizationId);
    const [rows, count] = await Promise.all([
      this.#shown()
        .where('organization_transfers.organization_id', '=', organizationId)
        .orderBy('organization_transfers.id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      all.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  async update(
    trx: Trx,
    id: number,
    set: Partial<Pick<TransferRow, 'keys' | 'webhooks' | 'videos' | 'files' | 'finished_at' | 'running_user_id'>>,
  ): Promise<void> {
    await trx.updateTable('organization_transfers').set(set).where('id', '=', id).execute();
  }

  /** Videos and batches of an account that have not ended. */
  async countOpen(trx: Trx, userId: number): Promise<number> {
    const count = ({ total }: { readonly total: number | string }): number => Number(total);
    const running = await trx
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('user_id', '=', userId)
      .where('next_poll_at', 'is not', null)
      .executeTakeFirstOrThrow();
    const waiting = await trx
      .selectFrom('queued_tasks')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    const batches = await trx
      .selectFrom('batches')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('user_id', '=', userId)
      .where('status', 'in', UNFINISHED_BATCHES)
      .executeTakeFirstOrThrow();
    return count(running) + count(waiting) + count(batches);
  }

  /** Keys that work; those of device sign-ins stay with the sign-in. @returns how many */
  async moveKeys(trx: Trx, { user_id, organization_id }: Parties): Promise<number> {
    const { numUpdatedRows } = await trx
      .updateTable('tokens')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('user_id', '=', user_id)
      .where('kind', '=', 'sk')
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  /** @returns how many the organization has afterwards, and how many were moved */
  async moveWebhooks(trx: Trx, { user_id, organization_id }: Parties): Promise<{ total: number; moved: number }> {
    const { numUpdatedRows } = await trx
      .updateTable('webhook_endpoints')
      .set({ user_id: organization_id })
      .where('user_id', '=', user_id)
      .executeTakeFirst();
    const { total } = await trx
      .selectFrom('webhook_endpoints')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('user_id', '=', organization_id)
      .executeTakeFirstOrThrow();
    return { total: Number(total), moved: Number(numUpdatedRows) };
  }

  /** Moves at most `limit` ended videos with their links and marks, out of the account's collections. @returns their ids */
  async moveVideos(trx: Trx, { user_id, organization_id, created_at }: Part, limit: number): Promise<string[]> {
    const rows = await trx
      .selectFrom('tasks')
      .select(['seq', 'id'])
      .where('user_id', '=', user_id)
      .where('created_at', '<=', created_at)
      .where('status', 'in', ['SUCCESS', 'FAILURE'])
      .orderBy('seq')
      .limit(limit)
      .forUpdate()
      .execute();
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const seqs = rows.map(({ seq }) => seq);
    await trx
      .updateTable('tasks')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('seq', 'in', seqs)
      .execute();
    await trx
      .updateTable('video_shares')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('task_id', 'in', ids)
      .execute();
    await trx
      .updateTable('favourite_videos')
      .set({ user_id: organization_id })
      .where('user_id', '=', user_id)
      .where('task_seq', 'in', seqs)
      .execute();
    await trx.deleteFrom('collection_videos').where('task_seq', 'in', seqs).execute();
    return ids;
  }

  /** Moves at most `limit` files. @returns their ids */
  async moveFiles(trx: Trx, { user_id, organization_id, created_at }: Part, limit: number): Promise<string[]> {
    const rows = await trx
      .selectFrom('files')
      .select('id')
      .where('user_id', '=', user_id)
      .where('created_at', '<=', created_at)
      .orderBy('id')
      .limit(limit)
      .forUpdate()
      .execute();
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return [];
    await trx
      .updateTable('files')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('id', 'in', ids)
      .execute();
    return ids;
  }

  /** Moves at most `limit` deliveries of webhooks that were moved. @returns whether there may be more */
  async moveDeliveries(trx: Trx, { user_id, organization_id }: Parties, limit: number): Promise<boolean> {
    const rows = await trx
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('user_id', '=', user_id)
      .where('endpoint_id', 'in', (from) =>
        from.selectFrom('webhook_endpoints').select('webhook_endpoints.id').where('user_id', '=', organization_id),
      )
      .orderBy('id')
      .limit(limit)
      .execute();
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0)
      await trx.updateTable('webhook_deliveries').set({ user_id: organization_id }).where('id', 'in', ids).execute();
    return ids.length === limit;
  }

  /** Ended batches, whose files and videos were moved. */
  async moveBatches(trx: Trx, { user_id, organization_id, created_at }: Part): Promise<void> {
    await trx
      .updateTable('batches')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('user_id', '=', user_id)
      .where('created_at', '<=', created_at)
      .where('status', 'not in', UNFINISHED_BATCHES)
      .execute();
  }
}

type Parties = Pick<TransferRow, 'user_id' | 'organization_id'>;
type Part = Parties & Pick<TransferRow, 'created_at'>;
