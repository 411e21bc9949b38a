import { randomBytes } from 'node:crypto';
import { type Selectable, sql, type Updateable } from 'kysely';
import type { Page } from '../../contract/responses.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { formatWebhookSecret } from '../../contract/webhooks.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { OwnerActor } from '../platform/http/route-registry.ts';
import type { SealContext, SealedColumn, Vault } from '../platform/vault.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { CALLBACK } from './tables.ts';

/** A row of `webhook_endpoints`. */
export type EndpointRow = Selectable<Tables['webhook_endpoints']>;
type SecretColumns = Pick<EndpointRow, 'secret' | 'previous_secret' | 'previous_until'>;

/** The cell an endpoint's secrets are sealed for. */
export const endpointSecretCell = (ref: string) => ({ table: 'webhook_endpoints', row: ref, column: 'secret' });
/** The cell an account's callback secrets are sealed for. */
export const callbackSecretCell = (userId: number) => ({
  table: 'webhook_account_secrets',
  row: userId,
  column: 'secret',
});

/** SQL of `webhook_endpoints` and `webhook_account_secrets`. */
export class EndpointStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, endpoint: Omit<EndpointRow, 'id'>): Promise<number> {
    const { id } = await trx.insertInto('webhook_endpoints').values(endpoint).returning('id').executeTakeFirstOrThrow();
    return id;
  }

  async count(trx: Trx, userId: number): Promise<number> {
    const row = await trx
      .selectFrom('webhook_endpoints')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  find(userId: number, id: number, db: Executor = this.#database.kysely): Promise<EndpointRow | undefined> {
    return db
      .selectFrom('webhook_endpoints')
      .selectAll()
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst();
  }

  async hasUrl(trx: Trx, id: number, url: string): Promise<boolean> {
    const row = await trx.selectFrom('webhook_endpoints').select('url').where('id', '=', id).executeTakeFirst();
    return row?.url === url;
  }

  async findMany(ids: readonly number[]): Promise<EndpointRow[]> {
    if (ids.length === 0) return [];
    return this.#database.kysely
      .selectFrom('webhook_endpoints')
      .selectAll()
      .where('id', 'in', [...ids])
      .execute();
  }

  async list(userId: number, { pageSize, offset }: Page): Promise<{ rows: EndpointRow[]; total: number }> {
    const own = this.#database.kysely.selectFrom('webhook_endpoints').where('user_id', '=', userId);
    const [rows, count] = await Promise.all([
      own.selectAll().orderBy('id').limit(pageSize).offset(offset).execute(),
      own.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** Enabled endpoints of accounts that can sign in: those of the given accounts, and those of administrators. */
  async listReceiving(
    trx: Trx,
    userIds: readonly number[],
    withAdministrators: boolean,
  ): Promise<(EndpointRow & { readonly role: string })[]> {
    return trx
      .selectFrom('webhook_endpoints')
      .innerJoin('accounts', 'accounts.id', 'webhook_endpoints.user_id')
      .selectAll('webhook_endpoints')
      .select('accounts.role')
      .where('webhook_endpoints.enabled', '=', 1)
      .where('accounts.status', '=', 1)
      .where('accounts.removed_at', 'is', null)
      .where(({ eb, or }) =>
        or([
          eb('webhook_endpoints.user_id', 'in', [0, ...userIds]),
          ...(withAdministrators ? [eb('accounts.role', 'in', ['admin', 'root'])] : []),
        ]),
      )
      .orderBy('webhook_endpoints.id')
      .execute();
  }

  async update(
    trx: Trx,
    userId: number,
    id: number,
    columns: Updateable<Tables['webhook_endpoints']>,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('webhook_endpoints')
        .set(columns)
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  async delete(trx: Trx, userId: number, id: number): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('webhook_endpoints').where('id', '=', id).where('user_id', '=', userId).executeTakeFirst(),
    );
  }

  /** Deletes all endpoints of an account, the secret of its callbacks, and the pending deliveries. */
  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    const removed = await trx.deleteFrom('webhook_endpoints').where('user_id', '=', userId).returning('id').execute();
    await trx
      .deleteFrom('webhook_deliveries')
      .where('user_id', '=', userId)
      .where('endpoint_id', 'in', [CALLBACK, ...removed.map(({ id }) => id)])
      .execute();
    await trx.deleteFrom('webhook_account_secrets').where('user_id', '=', userId).execute();
  }

  /** Records a successful delivery, which resets the earlier failures. */
  async markWorking(trx: Trx, id: number): Promise<void> {
    await trx
      .updateTable('webhook_endpoints')
      .set({ failing_since: null })
      .where('id', '=', id)
      .where('failing_since', 'is not', null)
      .execute();
  }

  /**
   * Records a failure. Earlier ones count only if the latest of them was not before `unbrokenSince`.
   * @returns the start of the failures; undefined if the endpoint is gone
   */
  async markFailing(trx: Trx, id: number, now: number, unbrokenSince: number): Promise<number | undefined> {
    const row = await trx
      .updateTable('webhook_endpoints')
      .set({
        failing_since: sql<number>`case when failed_at < ${unbrokenSince} then ${now}
          else coalesce(failing_since, ${now}) end`,
        failed_at: now,
      })
      .where('id', '=', id)
      .returning('failing_since')
      .executeTakeFirst();
    return row?.failing_since ?? undefined;
  }

  /** @returns the endpoint if this call disabled it */
  disable(trx: Trx, id: number, reason: EndpointRow['disabled_reason']): Promise<EndpointRow | undefined> {
    return trx
      .updateTable('webhook_endpoints')
      .set({ enabled: 0, disabled_reason: reason })
      .where('id', '=', id)
      .where('enabled', '=', 1)
      .returningAll()
      .executeTakeFirst();
  }

  findCallbackSecret(userId: number, db: Executor = this.#database.kysely): Promise<SecretColumns | undefined> {
    return db
      .selectFrom('webhook_account_secrets')
      .select(['secret', 'previous_secret', 'previous_until'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
  }

  /** Of several concurrent inserts, the first one is kept. */
  async insertCallbackSecret(userId: number, secret: string): Promise<void> {
    await this.#database.kysely
      .insertInto('webhook_account_secrets')
      .values({ user_id: userId, secret, previous_secret: null, previous_until: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  async replaceCallbackSecret(trx: Trx, userId: number, columns: SecretColumns): Promise<void> {
    await trx
      .insertInto('webhook_account_secrets')
      .values({ user_id: userId, ...columns })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(columns))
      .execute();
  }
}

const BATCH = 500;

/**
 * The signing secrets of endpoints and accounts, for re-encryption, with the previous ones that still sign: a delivery
 * fails if one of its secrets cannot be opened. Expired ones may be sealed under a key that has been destroyed.
 */
export function sealedWebhookSecrets(kysely: Executor, clock: Clock = systemClock): readonly SealedColumn[] {
  const endpoints = (column: SecretColumn): SealedColumn => ({
    async readAfter(after) {
      const rows = await kysely
        .selectFrom('webhook_endpoints')
        .select(['id', 'ref', column])
        .where('id', '>', after)
        .where(isInUse(column, clock.now()))
        .orderBy('id')
        .limit(BATCH)
        .execute();
      return rows.map((row) => ({ id: row.id, context: endpointSecretCell(row.ref), sealed: row[column] ?? '' }));
    },
    replace: ({ id, sealed }, secret) =>
      kysely
        .updateTable('webhook_endpoints')
        .set({ [column]: secret })
        .where('id', '=', id)
        .where(column, '=', sealed)
        .execute(),
  });
  const accounts = (column: SecretColumn): SealedColumn => ({
    async readAfter(after) {
      const rows = await kysely
        .selectFrom('webhook_account_secrets')
        .select(['user_id', column])
        .where('user_id', '>', after)
        .where(isInUse(column, clock.now()))
        .orderBy('user_id')
        .limit(BATCH)
        .execute();
      return rows.map(({ user_id: id, ...row }) => ({
        id,
        context: callbackSecretCell(id),
        sealed: row[column] ?? '',
      }));
    },
    replace: ({ id, sealed }, secret) =>
      kysely
        .updateTable('webhook_account_secrets')
        .set({ [column]: secret })
        .where('user_id', '=', id)
        .where(column, '=', sealed)
        .execute(),
  });
  return SECRET_COLUMNS.flatMap((column) => [endpoints(column), accounts(column)]);
}

const SECRET_COLUMNS = ['secret', 'previous_secret'] as const;
type SecretColumn = (typeof SECRET_COLUMNS)[number];

const isInUse = (column: SecretColumn, now: number) =>
  column === 'secret' ? sql<boolean>`1 = 1` : sql<boolean>`previous_secret is not null and previous_until > ${now}`;

const KEY_BYTES = 32;
/** How long the previous secret continues to sign after a rotation. */
const ROTATION_MS = DAY_MS;

/** Generates a signing secret in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => formatWebhookSecret(randomBytes(KEY_BYTES));

/**
 * The secrets that currently sign, in plain text, the current one first.
 * @throws UnsealError
 */
export function openSecrets(vault: Vault, cell: SealContext, columns: SecretColumns, now: number): string[] {
  const { secret, previous_secret: previous, previous_until: until } = columns;
  const sealed = previous !== null && until > now ? [secret, previous] : [secret];
  return sealed.map((each) => vault.open(each, cell));
}

/** The columns after a rotation. */
export const rotate = (
  vault: Vault,
  cell: SealContext,
  old: SecretColumns,
  next: string,
  now: number,
): SecretColumns => ({
  secret: vault.seal(next, cell),
  previous_secret: old.secret,
  previous_until: now + ROTATION_MS,
});

interface CallbackSecretsDependencies {
  readonly database: Database<Tables>;
  readonly endpoints: EndpointStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/** The secret of an account that signs deliveries to the callback_url of single requests; created when first needed. */
export class AccountCallbackSecrets {
  readonly #dependencies: CallbackSecretsDependencies;
  constructor(dependencies: CallbackSecretsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the secret in plain text. */
  async get(userId: number): Promise<string> {
    return this.#dependencies.vault.open((await this.ensure(userId)).secret, callbackSecretCell(userId));
  }

  /** The stored columns; creates a secret if there is none. */
  async ensure(userId: number): Promise<SecretColumns> {
    const { endpoints, vault } = this.#dependencies;
    const known = await endpoints.findCallbackSecret(userId);
    if (known !== undefined) return known;
    await endpoints.insertCallbackSecret(userId, vault.seal(newWebhookSecret(), callbackSecretCell(userId)));
    const made = await endpoints.findCallbackSecret(userId);
    if (made === undefined) throw new Error('the secret for callbacks was not stored');
    return made;
  }

  /** @returns the new secret in plain text; the previous one continues to sign for a day */
  async rotate(actor: OwnerActor): Promise<string> {
    const { database, endpoints, vault, clock, auditLog } = this.#dependencies;
    const { ownerId } = actor;
    await this.ensure(ownerId);
    const secret = newWebhookSecret();
    await database.transaction(async (trx) => {
      const old = await endpoints.findCallbackSecret(ownerId, trx);
      if (old === undefined) throw new Error('the secret for callbacks is gone');
      const columns = rotate(vault, callbackSecretCell(ownerId), old, secret, clock.now());
      await endpoints.replaceCallbackSecret(trx, ownerId, columns);
      const target = `${ownerId === actor.actorId ? 'user' : 'organization'}:${ownerId}`;
      await auditLog.record(trx, { ...actor, action: 'webhook.rotate-secret', target });
    });
    return secret;
  }
}
