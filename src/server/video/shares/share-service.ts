import type { Page } from '../../../contract/success-bodies-and-pagination.ts';
import { MAX_SHARES, MAX_SHARES_PER_VIDEO } from '../../../contract/video-shares.ts';
import type { AccountAccess } from '../../accounts/account-access.ts';
import type { AuditLog } from '../../accounts/audit/audit-log-types.ts';
import type { PasswordHasher } from '../../accounts/login/password-hasher.ts';
import { AppError, notExistError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/http/request-context.ts';
import { hashToken, randomText } from '../../platform/tokens.ts';
import type { Vault } from '../../platform/vault.ts';
import type { Tables } from '../../tables.ts';
import type { Task, TaskStore } from '../task-store.ts';
import { type ShareOfVideo, type ShareStore, shareTokenCell } from './share-store.ts';

export interface ShareServiceDependencies {
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

export interface NewShare {
  readonly expires_in_seconds?: number | undefined;
  readonly password?: string | undefined;
  readonly title?: string | undefined;
}

/** Characters of a token: 142 bits of randomness, too many to guess. */
const TOKEN_LENGTH = 24;

/** What owners do with the links by which others watch their videos. */
export class ShareService {
  readonly #dependencies: ShareServiceDependencies;
  constructor(dependencies: ShareServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws not_exist, task_not_completed, shares_full */
  async create(
    actor: Actor,
    taskId: string,
    { expires_in_seconds: seconds, password, title = '' }: NewShare,
  ): Promise<{ readonly id: number; readonly url: string; readonly expiresAt: number | null }> {
    const { database, access, shares, passwords, vault, clock } = this.#dependencies;
    const { actorId: userId } = actor;
    const task = await this.#findOwn(taskId, userId);
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const token = randomText(TOKEN_LENGTH);
    const tokenHash = hashToken(token);
    // Outside of the transaction: it takes its time on purpose.
    const passwordHash = password === undefined ? null : await passwords.hash(password);
    const now = clock.now();
    const expiresAt = seconds === undefined ? null : now + seconds * 1000;
    return database.transaction(async (trx) => {
      // Two additions at once would both find room.
      await access.lockEnabled(trx, userId);
      const isFull =
        (await shares.count(userId, now, task.id, trx)) >= MAX_SHARES_PER_VIDEO ||
        (await shares.count(userId, now, undefined, trx)) >= MAX_SHARES;
      if (isFull) throw new AppError('shares_full', { params: { each: MAX_SHARES_PER_VIDEO, most: MAX_SHARES } });
      const id = await shares.insert(trx, {
        task_id: task.id,
        user_id: userId,
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

  /** Those of one video. @throws not_exist */
  async listOfVideo(userId: number, taskId: string) {
    const { shares, clock } = this.#dependencies;
    const task = await this.#findOwn(taskId, userId);
    return this.#withUrls(await shares.list(userId, clock.now(), { taskId: task.id }));
  }

  /** Those of all videos. */
  async list(userId: number, page: Page) {
    const { shares, clock } = this.#dependencies;
    const now = clock.now();
    const [rows, total] = await Promise.all([shares.list(userId, now, { page }), shares.count(userId, now)]);
    return { rows: this.#withUrls(rows), total };
  }

  /** @throws not_exist */
  async delete(actor: Actor, taskId: string, id: number): Promise<void> {
    const { database, shares } = this.#dependencies;
    const task = await this.#findOwn(taskId, actor.actorId);
    await database.transaction(async (trx) => {
      if (!(await shares.delete(trx, actor.actorId, task.id, id))) throw notExistError('share');
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
    actor: Actor,
    action: string,
    id: number,
    after: object,
  ): Promise<void> {
    return this.#dependencies.auditLog.record(trx, { ...actor, action, target: `share:${id}`, after });
  }
}
