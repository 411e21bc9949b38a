import { sql } from 'kysely';
import { DAY_MS } from '../src/contract/time-units.ts';
import { wasChanged } from '../src/server/platform/db/sql.ts';
import type { Executor, Trx } from '../src/server/tables.ts';
import type { ImportedModel } from './mapping/models.ts';
import type { ImportedGroup } from './mapping/plans.ts';

/** A model's row, as an import records it to restore it on undo. */
export interface StoredModel {
  readonly vendor: string;
  readonly kind: string;
  readonly price: string | null;
  readonly alias_of: string | null;
  readonly enabled: number;
}

/** The models that an import replaced, as they were before, from its records of models. */
export const replacedModels = (
  records: ReadonlyMap<string, { readonly detail: string | null }>,
): ReadonlyMap<string, StoredModel> =>
  new Map(
    [...records].flatMap(([name, { detail }]) => {
      const { before } = JSON.parse(detail ?? '{}') as { readonly before?: StoredModel | null };
      return before == null ? [] : [[name, before] as const];
    }),
  );

/** SQL of an import on channels and models. */
export class ModelImportStore {
  /** Makes every process reload the catalogue, and serializes changes of it. */
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
   * Removes a channel that was not changed since and has no task of this service. Tasks of remaining accounts that had
   * ended in the source lose their reference to the channel. @returns whether the channel was removed
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

/** A plan as created by an import, to detect later changes. */
export interface StoredGroupPlan {
  readonly price_factor: number;
  /** JSON. */
  readonly channels: string;
  readonly models: string;
}

/** Accounts of a group keep the plan: it ends with the account, or when an administrator ends it. */
const DURATION_DAYS = 36_500;

/** SQL of the plans created from groups. */
export class PlanImportStore {
  /**
   * @param channels ids in this service. @returns the plan's id. The plan gets another code if the group's name is
   *   taken
   */
  async addPlan(
    trx: Trx,
    { code, name, factor }: ImportedGroup,
    channels: readonly number[],
    { importId, now }: { readonly importId: number; readonly now: number },
  ): Promise<{ readonly id: number; readonly stored: StoredGroupPlan }> {
    const stored = { price_factor: factor, channels: JSON.stringify(channels), models: '[]' };
    const row = {
      ...stored,
      name,
      description: '',
      level: 0,
      price_amount: 0,
      purchasable: 0,
      daily_quota: 0,
      duration_days: DURATION_DAYS,
      refresh_interval_seconds: 0,
      interval_quota: 0,
      weekly_quota_limit: 0,
      system_builtin: 0,
      status: 1,
      created_at: now,
    };
    for (const package_code of [code, `${code}-${importId}`]) {
      const made = await trx
        .insertInto('plans')
        .values({ ...row, package_code })
        .onConflict((conflict) => conflict.column('package_code').doNothing())
        .returning('id')
        .executeTakeFirst();
      if (made !== undefined) return { id: made.id, stored };
    }
    throw new Error(`There are plans called ${code} and ${code}-${importId}; rename one.`);
  }

  async subscribe(
    trx: Trx,
    accounts: readonly { readonly userId: number; readonly planId: number }[],
    { importId, now }: { readonly importId: number; readonly now: number },
  ): Promise<void> {
    if (accounts.length === 0) return;
    const dates = { starts_at: now, expires_at: now + DURATION_DAYS * DAY_MS, created_at: now };
    await trx
      .insertInto('subscriptions')
      .values(
        accounts.map(({ userId, planId }) => ({
          ...dates,
          user_id: userId,
          plan_id: planId,
          state: 'active' as const,
          duration_days: DURATION_DAYS,
          expiry_notified: 0,
          source: `import:${importId}`,
        })),
      )
      .execute();
  }

  find(db: Executor, id: number): Promise<StoredGroupPlan | undefined> {
    return db
      .selectFrom('plans')
      .select(['price_factor', 'channels', 'models'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The subset of these accounts that is on one of an import's plans. */
  async subscribed(db: Executor, importId: number, userIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (userIds.length === 0) return new Map();
    const rows = await db
      .selectFrom('subscriptions')
      .select(['user_id', 'plan_id'])
      .where('source', '=', `import:${importId}`)
      .where('state', '=', 'active')
      .where('user_id', 'in', userIds)
      .execute();
    return new Map(rows.map((row) => [row.user_id, row.plan_id]));
  }

  /** Removes a plan that is unchanged and used by no account. @returns whether the plan was removed */
  async removePlan(trx: Trx, id: number, stored: StoredGroupPlan): Promise<boolean> {
    return wasChanged(
      await trx
        .deleteFrom('plans')
        .where('id', '=', id)
        .where('price_factor', '=', stored.price_factor)
        .where('channels', '=', stored.channels)
        .where('models', '=', stored.models)
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('subscriptions').select('id').where('plan_id', '=', id).where('state', '<>', 'ended'))),
        )
        .executeTakeFirst(),
    );
  }
}
