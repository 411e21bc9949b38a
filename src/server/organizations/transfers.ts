import type { Insertable, Selectable } from 'kysely';
import { ENABLED } from '../../contract/account-fields.ts';
import type { TransferredThing } from '../../contract/organization-roles.ts';
import type { Page } from '../../contract/responses.ts';
import { MAX_ENDPOINTS } from '../../contract/webhooks.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Artifacts } from '../artifacts/module.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import type { OnFaultPoint } from '../video/task-completion.ts';
import type { OrganizationService } from './organizations.ts';

interface TransferServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: TransferStore;
  readonly organizations: Pick<OrganizationService, 'lockOwn' | 'lockPerson'>;
  readonly artifacts: Pick<Artifacts, 'changeOwner'>;
  readonly ledger: Pick<Ledger, 'grant' | 'lockBalance'>;
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  readonly faultPoint: OnFaultPoint;
}

/** What an account hands over. */
interface TransferRequest {
  readonly include: readonly TransferredThing[];
  /** Part of the wallet's balance. */
  readonly quota: number;
}

/** Rows moved in one transaction. */
const CHUNK = 200;
/** Chunks that the request itself moves; the maintenance job moves the rest. */
const CHUNKS_AT_ONCE = 20;
const NEEDS_ENDED_JOBS: readonly TransferredThing[] = ['keys', 'videos', 'files'];

/**
 * Hands over what an account owns to an organization. One transaction decides: it moves money, keys and webhooks and
 * records the transfer. Videos and files follow in chunks, each a transaction that any process may repeat, so that a
 * crash only delays them.
 */
export class TransferService {
  readonly #dependencies: TransferServiceDependencies;
  constructor(dependencies: TransferServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws not_exist, forbidden, quota_not_enough, transfer_jobs_open, transfer_running */
  async start(slug: string, actor: Actor, request: TransferRequest): Promise<ShownTransfer> {
    const id = await this.#dependencies.database.transaction((trx) => this.#decide(trx, slug, actor, request));
    this.#dependencies.faultPoint('transfer-decided');
    for (let chunk = 0; chunk < CHUNKS_AT_ONCE; chunk++) if (await this.#advance(id)) break;
    return this.#dependencies.store.find(id);
  }

  /** Transfers to an organization, of all members. @throws not_exist, forbidden */
  async list(slug: string, actorId: number, page: Page) {
    const { database, store, organizations } = this.#dependencies;
    const { id } = await database.transaction((trx) => organizations.lockOwn(trx, slug, actorId, 'admin'));
    return store.list(id, page);
  }

  /** Continues transfers that a crash interrupted or that are too large for their request. */
  async continueRunning(): Promise<void> {
    await workOnEach(await this.#dependencies.store.listRunning(), async (id) => {
      while (!(await this.#advance(id)));
    });
  }

  async #decide(trx: Trx, slug: string, actor: Actor, { include, quota }: TransferRequest): Promise<number> {
    const { store, organizations, ledger, auditLog, clock } = this.#dependencies;
    if (include.length === 0 && quota === 0) throw invalidRequest('Name what to transfer.', 'include');
    const { actorId: userId } = actor;
    await organizations.lockPerson(trx, userId);
    const found = await organizations.lockOwn(trx, slug, userId, 'admin');
    if (found.status !== ENABLED) throw new AppError('account_disabled');
    // Submits lock the wallet that pays: those that come first are counted below, later ones are refused or stay behind.
    await ledger.lockBalance(trx, userId);
    const open = include.some((thing) => NEEDS_ENDED_JOBS.includes(thing)) ? await store.countOpen(trx, userId) : 0;
    if (open > 0) throw new AppError('transfer_jobs_open', { params: { count: open } });
    const now = clock.now();
    const parties = { user_id: userId, organization_id: found.id };
    const things = JSON.stringify(include);
    const id = await store.insert(trx, { ...parties, things, quota, running_user_id: userId, created_at: now });
    if (id === undefined) throw new AppError('transfer_running');
    const keys = include.includes('keys') ? await store.moveKeys(trx, parties) : 0;
    const webhooks = include.includes('webhooks') ? await store.moveWebhooks(trx, parties) : undefined;
    if (webhooks !== undefined && webhooks.moved > 0 && webhooks.total > MAX_ENDPOINTS)
      throw new AppError('webhooks_full', { params: { most: MAX_ENDPOINTS } });
    await store.update(trx, id, { keys, webhooks: webhooks?.moved ?? 0 });
    if (quota > 0) {
      const note = `transfer to ${slug}`;
      const grants = [
        { userId, amount: -quota, ref: `transfer:${id}:from`, note },
        { userId: found.id, amount: quota, ref: `transfer:${id}:to`, note },
      ];
      // In the order in which all transactions lock wallets.
      for (const grant of grants.sort((a, b) => a.userId - b.userId)) await ledger.grant(trx, grant);
    }
    const after = { transfer: id, include, quota, keys };
    await auditLog.record(trx, {
      ...actor,
      ownerId: found.id,
      action: 'organization.transfer',
      target: `organization:${found.id}`,
      after: { ...after, from: userId },
    });
    await auditLog.record(trx, {
      ...actor,
      ownerId: found.id,
      action: 'self.transfer',
      target: `user:${userId}`,
      after: { ...after, to: found.id },
    });
    return id;
  }

  /** Moves one chunk. @returns whether the transfer is finished */
  async #advance(id: number): Promise<boolean> {
    const { database, store, artifacts, clock, faultPoint } = this.#dependencies;
    const isFinished = await database.transaction(async (trx) => {
      const transfer = await store.lockRunning(trx, id);
      if (transfer === undefined) return true;
      const things = JSON.parse(transfer.things) as TransferredThing[];
      const videos = things.includes('videos') ? await store.moveVideos(trx, transfer, CHUNK) : [];
      const files = things.includes('files') ? await store.moveFiles(trx, transfer, CHUNK) : [];
      const hasDeliveries = things.includes('webhooks') && (await store.moveDeliveries(trx, transfer, CHUNK));
      await artifacts.changeOwner(trx, [...videos, ...files], transfer.organization_id);
      const moved = { videos: transfer.videos + videos.length, files: transfer.files + files.length };
      const isLast = videos.length < CHUNK && files.length < CHUNK && !hasDeliveries;
      if (isLast && things.includes('files')) await store.moveBatches(trx, transfer);
      const end = isLast ? { finished_at: clock.now(), running_user_id: null } : {};
      await store.update(trx, id, { ...moved, ...end });
      return isLast;
    });
    faultPoint('transfer-chunk');
    return isFinished;
  }
}

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

  /** Keys that work, with their budgets; those of device sign-ins stay with the sign-in. @returns how many */
  async moveKeys(trx: Trx, { user_id, organization_id }: Parties): Promise<number> {
    const { numUpdatedRows } = await trx
      .updateTable('tokens')
      .set({ user_id: organization_id, actor_id: user_id })
      .where('user_id', '=', user_id)
      .where('kind', '=', 'sk')
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    const moved = trx.selectFrom('tokens').select('id').where('user_id', '=', organization_id);
    await trx
      .updateTable('budgets')
      .set({ user_id: organization_id })
      .where('user_id', '=', user_id)
      .where('token_id', 'in', moved)
      .execute();
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
