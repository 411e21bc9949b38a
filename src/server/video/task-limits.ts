import type { PlanTerms } from '../plans/catalog.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { KeyLimits } from '../platform/limits/key-limiter.ts';
import type { Tables, Trx } from '../tables.ts';
import { NO_TOKEN } from './tables.ts';

/** How many videos may be in progress at once, and how many may wait. Undefined: any number. */
interface Bounds {
  readonly concurrent: number | undefined;
  readonly queued: number | undefined;
}

/** The limits on the videos of a caller: of the account or its plan, and of the key. */
export interface TaskLimits {
  readonly account: Bounds;
  readonly key: Bounds;
}

/** Videos of an account that may wait where neither account nor plan says otherwise. */
export const DEFAULT_QUEUED_TASKS = 10_000;

const accountBounds = prepareQuery<Tables, { id: number }>()((db, p) =>
  db.selectFrom('accounts').select(['concurrent_tasks', 'queued_tasks']).where('id', '=', p('id')),
);

/** Reads the limits on unfinished and waiting videos, and counts the unfinished ones. */
export class TaskLimitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** A limit of the account takes precedence over the one of its plan. */
  async limitsOf(
    { userId, limits }: { readonly userId: number; readonly limits?: KeyLimits | undefined },
    plan: Pick<PlanTerms, 'concurrentTasks' | 'queuedTasks'> | undefined,
  ): Promise<TaskLimits> {
    const own = await accountBounds.first(this.#database.kysely, { id: userId });
    return {
      account: {
        concurrent: own?.concurrent_tasks ?? plan?.concurrentTasks,
        queued: own?.queued_tasks ?? plan?.queuedTasks,
      },
      key: { concurrent: limits?.concurrentTasks, queued: limits?.queuedTasks },
    };
  }

  /** The limits of a key, for a video that no request is behind any more. */
  async keyLimits(tokenId: number): Promise<KeyLimits | undefined> {
    if (tokenId === NO_TOKEN) return undefined;
    const row = await this.#database.kysely
      .selectFrom('tokens')
      .select(['concurrent_tasks', 'queued_tasks'])
      .where('id', '=', tokenId)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return { concurrentTasks: row.concurrent_tasks ?? undefined, queuedTasks: row.queued_tasks ?? undefined };
  }

  /**
   * Which limit one more video would exceed. Locks the row of the account or the key first, so that concurrent submits
   * on any process are counted one after the other.
   */
  async findExceeded(
    trx: Trx,
    { userId, tokenId = NO_TOKEN }: { readonly userId: number; readonly tokenId?: number | undefined },
    { account, key }: TaskLimits,
  ): Promise<'account' | 'key' | undefined> {
    if (account.concurrent !== undefined) {
      await trx.selectFrom('accounts').select('id').where('id', '=', userId).forUpdate().execute();
      if ((await countOpen(trx, 'user_id', userId)) >= account.concurrent) return 'account';
    }
    if (key.concurrent !== undefined && tokenId !== NO_TOKEN) {
      await trx.selectFrom('tokens').select('id').where('id', '=', tokenId).forUpdate().execute();
      if ((await countOpen(trx, 'token_id', tokenId)) >= key.concurrent) return 'key';
    }
    return undefined;
  }
}

async function countOpen(trx: Trx, column: 'user_id' | 'token_id', id: number): Promise<number> {
  const { open } = await trx
    .selectFrom('tasks')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where(column, '=', id)
    .where('next_poll_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return Number(open);
}
