import type { CLIENT_SORTS } from '../../contract/device-clients.ts';
import { defined } from '../../contract/objects.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import type { AuditEntry, AuditLog } from '../accounts/audit-log.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/request-context.ts';
import { hashToken, isSameSecret, randomText, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

const MAX_SECRETS = 2;
const SECRET_PREFIX = 'rgcs_';
const HINT_LENGTH = 9;

/** An enabled official client. */
export interface DeviceClient {
  readonly id: string;
  /** Registered name. */
  readonly name: string;
}

/** Times are Unix milliseconds. */
export interface ClientListItem extends DeviceClient {
  readonly enabled: boolean;
  readonly createdAt: number;
  /** Number of signed-in devices. */
  readonly devices: number;
  readonly secrets: readonly { readonly id: number; readonly hint: string; readonly createdAt: number }[];
}

interface ClientServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: ClientStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/**
 * Official clients. Nothing is cached between requests, so disabling a client or retiring a secret takes effect
 * immediately on every process.
 */
export class ClientService {
  readonly #dependencies: ClientServiceDependencies;

  constructor(dependencies: ClientServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Finds an enabled client by id alone, as the code endpoint requires. */
  async find(id: string): Promise<DeviceClient | undefined> {
    const row = await this.#dependencies.store.find(id);
    return row?.enabled === 1 ? { id, name: row.name } : undefined;
  }

  /** The enabled client with this id and one of its active secrets; undefined if either is wrong. */
  async authenticate(id: string, secret: string): Promise<DeviceClient | undefined> {
    return verifyClientSecret(id, secret, await this.#dependencies.store.findSecretHashes(id));
  }

  /** The registered name, even of a disabled client; the id if the client was removed. */
  async findName(trx: Trx, id: string): Promise<string> {
    return (await this.#dependencies.store.find(id, trx))?.name ?? id;
  }

  async list(page: Page, sort?: ClientSort): Promise<{ rows: ClientListItem[]; total: number }> {
    const { rows, total } = await this.#dependencies.store.list(page, sort);
    return { rows: await this.#withSecrets(rows), total };
  }

  /** @throws not_exist */
  async get(id: string): Promise<ClientListItem> {
    const row = await this.#dependencies.store.findWithDeviceCount(id);
    const [client] = row === undefined ? [] : await this.#withSecrets([row]);
    if (client === undefined) throw notExistError('client');
    return client;
  }

  /** Returns the secret in clear; only its hash is stored. @throws already_exists */
  create(
    actor: Actor,
    { id = `client-${randomText(16)}`, name }: { readonly id?: string; readonly name: string },
  ): Promise<{ id: string; secret: string }> {
    const { database, store, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      if (!(await store.insert(trx, id, name, clock.now())))
        throw new AppError('already_exists', { params: { what: 'client' } });
      const { secret } = await this.#insertSecret(trx, id);
      await this.#audit(trx, actor, id, 'create', { after: { name } });
      return { id, secret };
    });
  }

  /** @throws not_exist */
  async update(
    actor: Actor,
    id: string,
    { name, enabled }: { readonly name?: string; readonly enabled?: boolean },
  ): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      const before = await this.#lockExisting(trx, id);
      const columns = defined({ name, enabled: enabled === undefined ? undefined : toFlag(enabled) });
      if (Object.keys(columns).length === 0) return;
      await store.update(trx, id, columns);
      await this.#audit(trx, actor, id, 'update', { before, after: { ...before, ...columns } });
    });
  }

  /** Removes a client; `revokeDependents` ends its sign-ins in the same transaction. @throws not_exist */
  async remove(actor: Actor, id: string, revokeDependents: (trx: Trx) => Promise<unknown>): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      const before = await this.#lockExisting(trx, id);
      await store.delete(trx, id);
      await revokeDependents(trx);
      await this.#audit(trx, actor, id, 'delete', { before });
    });
  }

  /** Adds a second secret. @throws not_exist, secrets_full */
  addSecret(actor: Actor, id: string): Promise<{ id: number; secret: string }> {
    const { database, store } = this.#dependencies;
    return database.transaction(async (trx) => {
      await this.#lockExisting(trx, id);
      if ((await store.listSecrets([id], trx)).length >= MAX_SECRETS) throw new AppError('secrets_full');
      const added = await this.#insertSecret(trx, id);
      await this.#audit(trx, actor, id, 'add-secret', { after: { secret: added.id } });
      return added;
    });
  }

  /** Retires one of two secrets. @throws not_exist, last_secret */
  async removeSecret(actor: Actor, id: string, secretId: number): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      await this.#lockExisting(trx, id);
      const secrets = await store.listSecrets([id], trx);
      if (!secrets.some((secret) => secret.id === secretId)) throw notExistError('secret');
      if (secrets.length === 1) throw new AppError('last_secret');
      await store.deleteSecret(trx, secretId);
      await this.#audit(trx, actor, id, 'remove-secret', { before: { secret: secretId } });
    });
  }

  async #audit(
    trx: Trx,
    actor: Actor,
    id: string,
    action: string,
    change: Pick<AuditEntry, 'before' | 'after'>,
  ): Promise<void> {
    const entry = { action: `device-client.${action}`, target: `device-client:${id}` };
    await this.#dependencies.auditLog.record(trx, { ...actor, ...entry, ...change });
  }

  async #insertSecret(trx: Trx, clientId: string): Promise<{ id: number; secret: string }> {
    const { store, clock } = this.#dependencies;
    const secret = randomToken(SECRET_PREFIX, 42, { checksum: true });
    const id = await store.insertSecret(trx, {
      client_id: clientId,
      hash: hashToken(secret),
      hint: secret.slice(0, HINT_LENGTH),
      created_at: clock.now(),
    });
    return { id, secret };
  }

  async #lockExisting(trx: Trx, id: string): Promise<{ name: string; enabled: 0 | 1 }> {
    const client = await this.#dependencies.store.lock(trx, id);
    if (client === undefined) throw notExistError('client');
    return client;
  }

  async #withSecrets(rows: readonly ClientRow[]): Promise<ClientListItem[]> {
    const secrets = await this.#dependencies.store.listSecrets(rows.map((row) => row.client_id));
    return rows.map((row) => ({
      id: row.client_id,
      name: row.name,
      enabled: row.enabled === 1,
      createdAt: row.created_at,
      devices: Number(row.devices),
      secrets: secrets
        .filter((secret) => secret.client_id === row.client_id)
        .map(({ id, hint, created_at }) => ({ id, hint, createdAt: created_at })),
    }));
  }
}

const toFlag = (enabled: boolean): 0 | 1 => (enabled ? 1 : 0);

/** The client of the given rows, if it is enabled and the secret matches one of its active secrets. */
export function verifyClientSecret(id: string, secret: string, rows: readonly SecretRow[]): DeviceClient | undefined {
  const hash = hashToken(secret);
  // Compares digests of every active secret, so that timing reveals neither which one matched nor how much of it.
  const [row] = rows.filter(({ secret_hash }) => isSameSecret(secret_hash, hash));
  return row?.enabled === 1 ? { id, name: row.name } : undefined;
}

interface NewSecret {
  readonly client_id: string;
  readonly hash: string;
  readonly hint: string;
  readonly created_at: number;
}

/** A client's name and state with the hash of one of its active secrets. */
interface SecretRow {
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly secret_hash: string;
}

/** A client as administrators see it. */
interface ClientRow {
  readonly client_id: string;
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly created_at: number;
  readonly devices: number | string | null;
}

type ClientSort = Sort<(typeof CLIENT_SORTS)[number]>;
const SORT_COLUMNS = { name: 'name', devices: 'devices', created: 'created_at' } as const;

const clientById = prepareQuery<Tables, { id: string }>()((db, p) =>
  db.selectFrom('device_clients').select(['name', 'enabled']).where('client_id', '=', p('id')),
);

const activeSecretsById = prepareQuery<Tables, { id: string }>()((db, p) =>
  db
    .selectFrom('device_clients')
    .innerJoin('device_client_secrets', 'device_client_secrets.client_id', 'device_clients.client_id')
    .select(['device_clients.name', 'device_clients.enabled', 'device_client_secrets.hash as secret_hash'])
    .where('device_clients.client_id', '=', p('id')),
);

const clientsWithDeviceCount = (db: Executor) =>
  db
    .selectFrom('device_clients')
    .select(['client_id', 'name', 'enabled', 'created_at'])
    .select((row) =>
      row
        .selectFrom('device_authorizations')
        .whereRef('device_authorizations.client_id', '=', 'device_clients.client_id')
        .select((inner) => inner.fn.countAll<number>().as('devices'))
        .as('devices'),
    );

/** SQL of `device_clients` and `device_client_secrets`. */
export class ClientStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(id: string, db: Executor = this.#database.kysely): Promise<{ name: string; enabled: 0 | 1 } | undefined> {
    return clientById.first(db, { id });
  }

  /** One row for each active secret of the client. */
  findSecretHashes(id: string): Promise<SecretRow[]> {
    return activeSecretsById.all(this.#database.kysely, { id });
  }

  /** Returns false if the id is taken. */
  async insert(trx: Trx, id: string, name: string, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('device_clients')
        .values({ client_id: id, name, enabled: 1, created_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  /** Reads and locks a client, so that two administrators cannot add a third secret concurrently. */
  lock(trx: Trx, id: string): Promise<{ name: string; enabled: 0 | 1 } | undefined> {
    return trx
      .selectFrom('device_clients')
      .select(['name', 'enabled'])
      .where('client_id', '=', id)
      .forUpdate()
      .executeTakeFirst();
  }

  async update(trx: Trx, id: string, columns: { readonly name?: string; readonly enabled?: 0 | 1 }): Promise<void> {
    await trx.updateTable('device_clients').set(columns).where('client_id', '=', id).execute();
  }

  async delete(trx: Trx, id: string): Promise<void> {
    await trx.deleteFrom('device_client_secrets').where('client_id', '=', id).execute();
    await trx.deleteFrom('device_clients').where('client_id', '=', id).execute();
  }

  async insertSecret(trx: Trx, secret: NewSecret): Promise<number> {
    const row = await trx.insertInto('device_client_secrets').values(secret).returning('id').executeTakeFirstOrThrow();
    return row.id;
  }

  /** Oldest first. */
  listSecrets(clientIds: readonly string[], db: Executor = this.#database.kysely) {
    return db
      .selectFrom('device_client_secrets')
      .select(['id', 'client_id', 'hint', 'created_at'])
      .where('client_id', 'in', [...clientIds, ''])
      .orderBy('id')
      .execute();
  }

  async deleteSecret(trx: Trx, id: number): Promise<void> {
    await trx.deleteFrom('device_client_secrets').where('id', '=', id).execute();
  }

  findWithDeviceCount(id: string): Promise<ClientRow | undefined> {
    return clientsWithDeviceCount(this.#database.kysely).where('client_id', '=', id).executeTakeFirst();
  }

  /** Ordered by id unless sorted. */
  async list(page: Page, sort?: ClientSort): Promise<{ rows: ClientRow[]; total: number }> {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      clientsWithDeviceCount(kysely)
        .$if(sort !== undefined, (query) =>
          query.orderBy(SORT_COLUMNS[sort?.key ?? 'name'], sort?.descending === true ? 'desc' : 'asc'),
        )
        .orderBy('client_id')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      kysely
        .selectFrom('device_clients')
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }
}
