import { sql } from 'kysely';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Trx } from '../tables.ts';
import type { ImportedModel } from './models-to-import.ts';

/** A model's row as an import keeps it, to put it back. */
export interface StoredModel {
  readonly vendor: string;
  readonly kind: string;
  readonly price: string | null;
  readonly alias_of: string | null;
  readonly enabled: number;
}

/** SQL of an import on channels and models. */
export class ModelImportAndChannelRemovalStore {
  /** Makes every process read the catalogue again, and serializes changes of it. */
  async bumpVersion(trx: Trx): Promise<void> {
    await trx.updateTable('catalog_version').set({ version: sql`version + 1` }).execute();
  }

  async model(db: Executor, id: string): Promise<StoredModel | undefined> {
    return db
      .selectFrom('models')
      .select(['vendor', 'kind', 'price', 'alias_of', 'enabled'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  async putModel(trx: Trx, { id, vendor, kind, price }: ImportedModel, now: number): Promise<StoredModel> {
    const row = { vendor, kind, price: JSON.stringify(price), alias_of: null, enabled: 1 as const };
    await trx
      .insertInto('models')
      .values({ ...row, id, input_schema: null, created_at: now, updated_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...row, updated_at: now }))
      .execute();
    return row;
  }

  async restoreModel(trx: Trx, id: string, before: StoredModel | null, now: number): Promise<void> {
    if (before === null) await trx.deleteFrom('models').where('id', '=', id).execute();
    else
      await trx
        .updateTable('models')
        .set({ ...(before as object), updated_at: now })
        .where('id', '=', id)
        .execute();
  }

  /**
   * Removes a channel that was not changed since and has no task of this service; those that had ended in the source, of accounts that stay,
   * do without it. @returns whether it is gone
   */
  async removeChannel(trx: Trx, id: number, updatedAt: number): Promise<boolean> {
    const removed = await trx
      .deleteFrom('channels')
      .where('id', '=', id)
      .where('updated_at', '=', updatedAt)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('tasks').select('seq').where('channel_id', '=', id).where('seq', '>', 0))),
      )
      .executeTakeFirst();
    if (!wasChanged(removed)) return false;
    await trx
      .updateTable('tasks')
      .set({ channel_id: null, credential_id: null })
      .where('channel_id', '=', id)
      .execute();
    return true;
  }

  async channelExists(db: Executor, id: number): Promise<boolean> {
    return (await db.selectFrom('channels').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
  }
}
