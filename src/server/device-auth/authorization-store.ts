import type { Selectable } from 'kysely';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import type { AuditEntry, AuditLog } from '../accounts/audit-log.ts';
import type { LinkedLogins } from '../accounts/sessions.ts';
import type { TokenStore } from '../accounts/tokens.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery, wasChanged } from '../platform/db/sql.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import type { Tables, Trx } from '../tables.ts';
import type { DeviceCodeStore } from './code-store.ts';

/** A signed-in device. */
export type AuthorizationRow = Selectable<Tables['device_authorizations']>;
/** A refresh_token, used or not. */
export type RefreshTokenRow = Selectable<Tables['device_refresh_tokens']>;

/** Selects the devices to revoke: those that match every given column, of which at least one is required. */
export type AuthorizationFilter = Partial<
  Pick<
    AuthorizationRow,
    'id' | 'user_id' | 'organization_id' | 'client_id' | 'device_id' | 'access_hash' | 'llm_token_id'
  >
>;

/** The columns of a revoked device that audit entries and notices need. */
export type RevokedAuthorization = Pick<
  AuthorizationRow,
  'id' | 'user_id' | 'organization_id' | 'client_id' | 'client_name' | 'llm_token_id'
>;

/** Time and IP of a device's use. */
export interface DeviceUse {
  /** Unix milliseconds. */
  readonly at: number;
  readonly address: string;
}

type AccessTokenRow = Pick<
  AuthorizationRow,
  'id' | 'user_id' | 'access_expires_at' | 'scopes' | 'audience' | 'llm_token_id' | 'organization_id'
>;

/** A refresh_token with the columns of its sign-in, which are null if that was revoked. */
type RefreshableRow = RefreshTokenRow & {
  readonly user_id: number | null;
  readonly approved_at: number | null;
  readonly last_address: string | null;
} & Pick<AuthorizationRow, 'scopes' | 'audience' | 'grant_ends_at'>;

const ACCESS_COLUMNS = ['id', 'user_id', 'scopes', 'audience', 'llm_token_id', 'organization_id'] as const;

const byAccessToken = prepareQuery<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('device_authorizations')
    .select(ACCESS_COLUMNS)
    .select('access_expires_at')
    .where('access_hash', '=', p('hash')),
);

const byPreviousAccessToken = prepareQuery<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('device_authorizations')
    .select(ACCESS_COLUMNS)
    .select('previous_access_ends_at as access_expires_at')
    .where('previous_access_hash', '=', p('hash'))
    // Repeated here because the partial index holds only these rows.
    .where('previous_access_hash', 'is not', null),
);

/** SQL of `device_authorizations` and `device_refresh_tokens`: signed-in devices and their tokens. */
export class AuthorizationStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The device of an access_token, including an expired one. */
  async findByAccessToken(hash: string): Promise<AccessTokenRow | undefined> {
    const { kysely } = this.#database;
    const current = await byAccessToken.first(kysely, { hash });
    return current ?? ((await byPreviousAccessToken.first(kysely, { hash })) as AccessTokenRow | undefined);
  }

  async insert(trx: Trx, row: AuthorizationRow): Promise<void> {
    await trx.insertInto('device_authorizations').values(row).execute();
  }

  async insertRefreshToken(trx: Trx, row: Omit<RefreshTokenRow, 'used_at'>): Promise<void> {
    await trx
      .insertInto('device_refresh_tokens')
      .values({ ...row, used_at: null })
      .execute();
  }

  findRefreshToken(hash: string): Promise<RefreshableRow | undefined> {
    return this.#database.kysely
      .selectFrom('device_refresh_tokens')
      .leftJoin('device_authorizations', 'device_authorizations.id', 'device_refresh_tokens.authorization_id')
      .selectAll('device_refresh_tokens')
      .select(['device_authorizations.user_id', 'device_authorizations.created_at as approved_at'])
      .select(['scopes', 'audience', 'grant_ends_at', 'last_address'])
      .where('hash', '=', hash)
      .executeTakeFirst();
  }

  /** Marks a refresh_token as used; returns true for exactly one of several concurrent callers. */
  async consumeRefreshToken(trx: Trx, hash: string, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('device_refresh_tokens')
        .set({ used_at: now })
        .where('hash', '=', hash)
        .where('used_at', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirst(),
    );
  }

  /**
   * Replaces the access_token, which voids the previous one unless it is kept; returns false if the device was revoked
   * in the meantime.
   */
  async renew(
    trx: Trx,
    id: number,
    columns: Pick<
      AuthorizationRow,
      'access_hash' | 'access_expires_at' | 'refresh_expires_at' | 'last_used_at' | 'last_address'
    >,
    { keepsPrevious = false }: { readonly keepsPrevious?: boolean } = {},
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('device_authorizations')
        .set(columns)
        .$if(keepsPrevious, (query) =>
          query.set((row) => ({
            previous_access_hash: row.ref('access_hash'),
            previous_access_ends_at: row.ref('access_expires_at'),
          })),
        )
        .where('id', '=', id)
        .executeTakeFirst(),
    );
  }

  /** Deletes and returns matching devices: of two callers that revoke the same device, exactly one receives it. */
  delete(trx: Trx, filter: AuthorizationFilter): Promise<RevokedAuthorization[]> {
    const columns = Object.entries(filter) as [keyof AuthorizationFilter, string | number | null][];
    if (columns.length === 0) throw new TypeError('an empty filter would revoke every device there is');
    let query = trx
      .deleteFrom('device_authorizations')
      .returning(['id', 'user_id', 'organization_id', 'client_id', 'client_name', 'llm_token_id']);
    for (const [column, value] of columns) query = query.where(column, value === null ? 'is' : '=', value);
    return query.execute();
  }

  /** Returns false if the account has no such device. */
  async rename(trx: Trx, id: number, userId: number, name: string): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('device_authorizations')
        .set({ client_name: name })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Devices with the registered name of their client, newest first. */
  async list(userId: number, page: Page) {
    const own = this.#database.kysely.selectFrom('device_authorizations').where('user_id', '=', userId);
    const [rows, count] = await Promise.all([
      own
        .leftJoin('device_clients', 'device_clients.client_id', 'device_authorizations.client_id')
        .selectAll('device_authorizations')
        .leftJoin('organizations', 'organizations.id', 'device_authorizations.organization_id')
        .select(['device_clients.name as registered_name', 'organizations.slug as organization'])
        .orderBy('device_authorizations.id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      own.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** The sign-ins of one client with their accounts, last used first. */
  async listOfClient(clientId: string, page: Page) {
    const [rows, total] = await Promise.all([
      this.#database.kysely
        .selectFrom('device_authorizations')
        .where('client_id', '=', clientId)
        .innerJoin('accounts', 'accounts.id', 'device_authorizations.user_id')
        .selectAll('device_authorizations')
        .select('accounts.username')
        .orderBy('device_authorizations.last_used_at', 'desc')
        .orderBy('device_authorizations.id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      this.countOfClient(clientId),
    ]);
    return { rows, total };
  }

  async countOfClient(clientId: string): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('device_authorizations')
      .select((each) => each.fn.countAll<number>().as('total'))
      .where('client_id', '=', clientId)
      .executeTakeFirstOrThrow();
    return Number(row.total);
  }

  /** Sign-ins and grants that have not ended, by the resource of their tokens; null for devices. */
  async countByAudience() {
    return this.#database.kysely
      .selectFrom('device_authorizations')
      .select(['audience', (each) => each.fn.countAll<number>().as('total')])
      .groupBy('audience')
      .execute();
  }

  async recordUse(batch: ReadonlyMap<number, DeviceUse>): Promise<void> {
    for (const [id, { at, address }] of batch) {
      await this.#database.kysely
        .updateTable('device_authorizations')
        .set({ last_used_at: at, last_address: address })
        .where('id', '=', id)
        .where('last_used_at', '<', at)
        .execute();
    }
  }

  /** Deletes refresh_tokens that expired before that time. */
  async deleteExpiredRefreshTokens(expiredBefore: number): Promise<void> {
    await this.#database.kysely.deleteFrom('device_refresh_tokens').where('expires_at', '<=', expiredBefore).execute();
  }
}

/** Called in the transaction that revokes devices, for any reason. */
export type OnDevicesRevoked = (trx: Trx, revoked: readonly RevokedAuthorization[]) => Promise<void>;

interface DeviceRevocationDependencies {
  readonly authorizations: AuthorizationStore;
  readonly codes: DeviceCodeStore;
  readonly tokens: Pick<TokenStore, 'revokeLlm'>;
  readonly clock: Clock;
  readonly onRevoked: OnDevicesRevoked;
}

/**
 * Ends device sign-ins: deletes the access_token and refresh_token with their row and the record of the code, and
 * revokes the llm_token. Used refresh_tokens are kept, so that a later use gets the error "revoked".
 */
export class DeviceRevocation implements LinkedLogins {
  readonly #dependencies: DeviceRevocationDependencies;

  constructor(dependencies: DeviceRevocationDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the devices this call revoked. */
  async revoke(trx: Trx, filter: AuthorizationFilter): Promise<readonly RevokedAuthorization[]> {
    const { authorizations, codes, tokens, clock, onRevoked } = this.#dependencies;
    const revoked = await authorizations.delete(trx, filter);
    if (revoked.length === 0) return revoked;
    await tokens.revokeLlm(
      trx,
      revoked.map(({ llm_token_id }) => llm_token_id),
      clock.now(),
    );
    await codes.delete(
      trx,
      revoked.map(({ id }) => id),
    );
    await onRevoked(trx, revoked);
    return revoked;
  }

  /** Revokes all devices of an account, and its uncollected approvals. */
  async revokeAll(trx: Trx, userId: number): Promise<void> {
    await this.#dependencies.codes.deleteApprovedOfUser(trx, userId);
    await this.revoke(trx, { user_id: userId });
  }
}

/** The entry of a device's sign-out in the audit log. Without an actor, the client or the service ended it. */
export const toRevocationEntry = (
  revoked: RevokedAuthorization,
  action: AuditAction,
  origin: RequestOrigin,
  actorId?: number,
): AuditEntry => ({
  ...defined({ actorId, ownerId: revoked.organization_id ?? undefined }),
  action,
  target: `device:${revoked.id}`,
  before: { user: revoked.user_id, client: revoked.client_id, name: revoked.client_name },
  ...origin,
});

/** Records a device's sign-out in the audit log. */
export const auditRevocation = (
  auditLog: AuditLog,
  trx: Trx,
  ...revocation: Parameters<typeof toRevocationEntry>
): Promise<void> => auditLog.record(trx, toRevocationEntry(...revocation));
