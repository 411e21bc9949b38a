import type { Selectable } from 'kysely';
import { ENABLED } from '../../contract/account-fields.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Page } from '../../contract/responses.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { MAX_SHARES, MAX_SHARES_PER_VIDEO } from '../../contract/video-shares.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { PasswordHasher } from '../accounts/passwords.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { OwnerActor } from '../platform/http/route-registry.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import { RevocationWatch } from '../platform/revocation-watch.ts';
import { createSigner, hashToken, randomText, type Signer } from '../platform/tokens.ts';
import type { SealContext, SealedColumn, Vault } from '../platform/vault.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { Task, TaskStore } from './task-store.ts';

interface ShareServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly access: Pick<AccountAccess, 'lockEnabled'>;
  readonly shares: ShareStore;
  readonly passwords: Pick<PasswordHasher, 'hash'>;
  readonly vault: Vault;
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  readonly baseUrl: string;
}

interface NewShare {
  readonly expires_in_seconds?: number;
  readonly password?: string;
  readonly title?: string;
}

/** Characters of a token: 142 bits of randomness, too many to guess. */
const TOKEN_LENGTH = 24;

/** Creates, lists and deletes share links for the owners of videos. */
export class ShareService {
  readonly #dependencies: ShareServiceDependencies;
  constructor(dependencies: ShareServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `not_exist`, `task_not_completed`, `shares_full` */
  async create(
    actor: OwnerActor,
    taskId: string,
    { expires_in_seconds: seconds, password, title = '' }: NewShare,
  ): Promise<{ readonly id: number; readonly url: string; readonly expiresAt: number | null }> {
    const { database, access, shares, passwords, vault, clock } = this.#dependencies;
    const { ownerId: userId } = actor;
    const task = await this.#findOwn(taskId, userId);
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const token = randomText(TOKEN_LENGTH);
    const tokenHash = hashToken(token);
    // Outside the transaction, because hashing is slow by design.
    const passwordHash = password === undefined ? null : await passwords.hash(password);
    const now = clock.now();
    const expiresAt = seconds === undefined ? null : now + seconds * 1000;
    return database.transaction(async (trx) => {
      // Without the lock, two concurrent additions could both pass the limit.
      await access.lockEnabled(trx, userId);
      const isFull =
        (await shares.count(userId, now, task.id, trx)) >= MAX_SHARES_PER_VIDEO ||
        (await shares.count(userId, now, undefined, trx)) >= MAX_SHARES;
      if (isFull) throw new AppError('shares_full', { params: { each: MAX_SHARES_PER_VIDEO, most: MAX_SHARES } });
      const id = await shares.insert(trx, {
        task_id: task.id,
        user_id: userId,
        actor_id: actor.actorId,
        token_hash: tokenHash,
        token: vault.seal(token, shareTokenCell(tokenHash)),
        title: title.trim(),
        password_hash: passwordHash,
        created_at: now,
        expires_at: expiresAt,
      });
      await this.#audit(trx, actor, 'share.create', id, {
        task: taskId,
        expiresAt,
        hasPassword: passwordHash !== null,
      });
      return { id, url: this.#urlOf(token), expiresAt };
    });
  }

  /**
   * Links of one video.
   * @throws AppError `not_exist`
   */
  async listOfVideo(userId: number, taskId: string) {
    const { shares, clock } = this.#dependencies;
    const task = await this.#findOwn(taskId, userId);
    return this.#withUrls(await shares.list(userId, clock.now(), { taskId: task.id }));
  }

  /** Links of all videos. */
  async list(userId: number, page: Page) {
    const { shares, clock } = this.#dependencies;
    const now = clock.now();
    const [rows, total] = await Promise.all([shares.list(userId, now, { page }), shares.count(userId, now)]);
    return { rows: this.#withUrls(rows), total };
  }

  /**
   * @param authorId the member who may end only links that it made itself, and links to its own videos
   * @throws AppError `not_exist`, `forbidden`
   */
  async delete(actor: OwnerActor, taskId: string, id: number, authorId: number | undefined): Promise<void> {
    const { database, shares } = this.#dependencies;
    const task = await this.#findOwn(taskId, actor.ownerId);
    await database.transaction(async (trx) => {
      const author = task.actor_id === authorId ? undefined : authorId;
      if (!(await shares.delete(trx, actor.ownerId, task.id, id, author)))
        throw (await shares.exists(trx, task.id, id)) ? new AppError('forbidden') : notExistError('share');
      await this.#audit(trx, actor, 'share.delete', id, { task: taskId });
    });
  }

  async #findOwn(taskId: string, userId: number): Promise<Task> {
    const task = await this.#dependencies.store.findForUser(taskId, userId);
    if (task === undefined) throw notExistError('task');
    return task;
  }

  #withUrls(rows: readonly ShareOfVideo[]) {
    const { vault } = this.#dependencies;
    return rows.map((row) => ({ ...row, url: this.#urlOf(vault.open(row.token, shareTokenCell(row.token_hash))) }));
  }

  #urlOf(token: string): string {
    return `${this.#dependencies.baseUrl}/s/${token}`;
  }

  #audit(
    trx: Parameters<AuditLog['record']>[0],
    actor: OwnerActor,
    action: AuditAction,
    id: number,
    after: object,
  ): Promise<void> {
    return this.#dependencies.auditLog.record(trx, { ...actor, action, target: `share:${id}`, after });
  }
}

interface ShareAccessDependencies {
  readonly store: TaskStore;
  readonly shares: ShareStore;
  readonly passwords: Pick<PasswordHasher, 'verify'>;
  readonly rateLimits: RateLimits;
  readonly masterKey: Buffer;
  readonly clock: Clock;
  readonly log: Log;
}

/** A valid link and its video. */
export interface SharedVideo {
  readonly share: ShareRow;
  readonly task: Task;
}

/** Time for which a browser that has sent the password need not send it again. */
export const UNLOCKED_MS = 12 * HOUR_MS;
/**
 * Wrong passwords are counted per viewer network, never across networks: strangers who have the link could exhaust a
 * common count and lock out its viewers.
 */
const GUESSES_PER_NETWORK = { points: 10, durationSeconds: 900 } as const;
/** A /48 has 65,536 networks of its own. An IPv4 address counts here too. */
const GUESSES_PER_SITE = { points: 40, durationSeconds: 900 } as const;
/** Correct passwords have a limit of their own, because each one costs a hash. */
const UNLOCKS_PER_NETWORK = { points: 60, durationSeconds: 900 } as const;

/**
 * Access of viewers who have a link. Every call queries the database, so that an ended link grants nothing on any
 * process.
 */
export class ShareAccess {
  readonly #dependencies: ShareAccessDependencies;
  readonly #guessesByNetwork: RateLimiter;
  readonly #guessesBySite: RateLimiter;
  readonly #unlocksByNetwork: RateLimiter;
  readonly #signer: Signer;
  readonly #watch: RevocationWatch<number>;

  constructor(dependencies: ShareAccessDependencies) {
    this.#dependencies = dependencies;
    const { rateLimits, masterKey, shares, clock, log } = dependencies;
    this.#guessesByNetwork = rateLimits.define({ name: 'share-passwords-network', ...GUESSES_PER_NETWORK });
    this.#guessesBySite = rateLimits.define({ name: 'share-passwords-site', ...GUESSES_PER_SITE });
    this.#unlocksByNetwork = rateLimits.define({ name: 'share-unlocks-network', ...UNLOCKS_PER_NETWORK });
    this.#signer = createSigner(masterKey, 'share access');
    this.#watch = new RevocationWatch({
      keyOf: String,
      findLive: async (ids) => new Set([...(await shares.findLiveIds(ids, clock.now()))].map(String)),
      log,
    });
  }

  /** @returns undefined for an unknown token, and for one whose link has ended */
  async find(token: string): Promise<SharedVideo | undefined> {
    const { shares, store, clock } = this.#dependencies;
    const share = await shares.findLive(hashToken(token), clock.now());
    const task = share && (await store.findById(share.task_id));
    return share && task && { share, task };
  }

  /**
   * Whether the video may be shown.
   * @param proof the proof `unlock` issued to this browser
   */
  isOpen(share: ShareRow, proof: string | undefined): boolean {
    if (share.password_hash === null) return true;
    const [end = '', signature = ''] = (proof ?? '').split('.');
    return this.#signer.verify(proofText(share, end), signature) && Number(end) > this.#dependencies.clock.now();
  }

  /**
   * Checks a password.
   * @returns a proof for `isOpen`; undefined if the password is wrong
   * @throws AppError `rate_limit_exceeded`, `unavailable`
   */
  async unlock(share: ShareRow, password: string, clientIp: string): Promise<string | undefined> {
    const { passwords, clock } = this.#dependencies;
    const network = `${share.id} ${toIpLimitKey(clientIp)}`;
    const site = `${share.id} ${toIpLimitKey(clientIp, 48)}`;
    assertWithinLimit(await this.#unlocksByNetwork.peek(network));
    assertWithinLimit(await this.#guessesByNetwork.consume(network));
    assertWithinLimit(await this.#guessesBySite.consume(site));
    if (!(await passwords.verify(password, share.password_hash ?? undefined))) return undefined;
    await Promise.all([this.#guessesByNetwork.refund(network), this.#guessesBySite.refund(site)]);
    assertWithinLimit(await this.#unlocksByNetwork.consume(network));
    const end = String(clock.now() + UNLOCKED_MS);
    return `${end}.${this.#signer.sign(proofText(share, end))}`;
  }

  /**
   * Calls `onEnd` once when the link ends.
   * @returns a function that unregisters the callback
   */
  watch({ id }: ShareRow, onEnd: () => void): () => void {
    return this.#watch.watch(id, onEnd);
  }
}

/** Includes the password hash, so that a proof is valid only for this link and this password. */
const proofText = ({ id, password_hash }: ShareRow, end: string): string => JSON.stringify([end, id, password_hash]);

/** A row of `video_shares`. */
export type ShareRow = Selectable<Tables['video_shares']>;
/** A link with the public id and the prompt of its video. */
export type ShareOfVideo = ShareRow & {
  readonly public_id: string;
  readonly prompt: string;
  readonly task_actor_id: number | null;
  /** User name of the member who created it. */
  readonly author: string | null;
};

const BATCH = 500;

const shareTokenCell = (tokenHash: string): SealContext => ({
  table: 'video_shares',
  row: tokenHash,
  column: 'token',
});

/** SQL of `video_shares`. */
export class ShareStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, share: Omit<ShareRow, 'id'>): Promise<number> {
    const { id } = await trx.insertInto('video_shares').values(share).returning('id').executeTakeFirstOrThrow();
    return id;
  }

  /** Number of valid links of an account, or of one of its videos. */
  async count(userId: number, now: number, taskId?: string, db: Executor = this.#database.kysely): Promise<number> {
    const row = await this.#ofUser(userId, now, taskId, db)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  /** Valid links, newest first. */
  list(userId: number, now: number, { taskId, page }: { taskId?: string; page?: Page } = {}): Promise<ShareOfVideo[]> {
    let query = this.#ofUser(userId, now, taskId)
      .selectAll('video_shares')
      .select(['tasks.public_id', 'tasks.prompt', 'tasks.actor_id as task_actor_id'])
      .select((row) =>
        row
          .selectFrom('accounts')
          .select('username')
          .whereRef('accounts.id', '=', 'video_shares.actor_id')
          .as('author'),
      );
    if (page !== undefined) query = query.limit(page.pageSize).offset(page.offset);
    return query.orderBy('video_shares.id', 'desc').execute();
  }

  /**
   * @param authorId deletes only a link that this person made
   * @returns whether the account had this link on this video
   */
  async delete(trx: Trx, userId: number, taskId: string, id: number, authorId?: number): Promise<boolean> {
    const result = await trx
      .deleteFrom('video_shares')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .where('task_id', '=', taskId)
      .$if(authorId !== undefined, (query) => query.where('actor_id', '=', authorId ?? 0))
      .executeTakeFirst();
    return wasChanged(result);
  }

  async exists(db: Executor, taskId: string, id: number): Promise<boolean> {
    const query = db.selectFrom('video_shares').select('id').where('id', '=', id).where('task_id', '=', taskId);
    return (await query.executeTakeFirst()) !== undefined;
  }

  /** Deletes all links of a video, in the transaction that deletes the video. */
  async deleteOfTask(trx: Trx, taskId: string): Promise<void> {
    await trx.deleteFrom('video_shares').where('task_id', '=', taskId).execute();
  }

  /** Finds the link of a token while the link, its video and its account exist. */
  findLive(tokenHash: string, now: number): Promise<ShareRow | undefined> {
    return this.#live(now)
      .selectAll('video_shares')
      .where('video_shares.token_hash', '=', tokenHash)
      .executeTakeFirst();
  }

  /** Returns the ids of those links that are still valid. */
  async findLiveIds(ids: readonly number[], now: number): Promise<Set<number>> {
    const live = new Set<number>();
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      const rows = await this.#live(now).select('video_shares.id').where('video_shares.id', 'in', batch).execute();
      for (const { id } of rows) live.add(id);
    }
    return live;
  }

  /** Deletes expired links and links of removed accounts. */
  async deleteEnded(now: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('video_shares').where('expires_at', '<=', now).execute();
    await kysely
      .deleteFrom('video_shares')
      .where('user_id', 'in', (from) => from.selectFrom('accounts').select('id').where('removed_at', 'is not', null))
      .execute();
  }

  #live(now: number, db: Executor = this.#database.kysely) {
    return db
      .selectFrom('video_shares')
      .innerJoin('tasks', 'tasks.id', 'video_shares.task_id')
      .innerJoin('accounts', 'accounts.id', 'video_shares.user_id')
      .where('tasks.deleted', '=', 0)
      .where('accounts.status', '=', ENABLED)
      .where('accounts.removed_at', 'is', null)
      .where(({ eb, or }) => or([eb('video_shares.expires_at', 'is', null), eb('video_shares.expires_at', '>', now)]));
  }

  #ofUser(userId: number, now: number, taskId?: string, db?: Executor) {
    const query = this.#live(now, db).where('video_shares.user_id', '=', userId);
    return taskId === undefined ? query : query.where('video_shares.task_id', '=', taskId);
  }
}

/** The sealed tokens of all links, as a column whose values can be re-encrypted. */
export function sealedShareTokens(kysely: Executor): SealedColumn {
  return {
    async readAfter(after) {
      const rows = await kysely
        .selectFrom('video_shares')
        .select(['id', 'token_hash', 'token'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(BATCH)
        .execute();
      return rows.map(({ id, token_hash, token }) => ({ id, context: shareTokenCell(token_hash), sealed: token }));
    },
    replace: ({ id, sealed }, token) =>
      kysely.updateTable('video_shares').set({ token }).where('id', '=', id).where('token', '=', sealed).execute(),
  };
}
