import type { Selectable } from 'kysely';
import type { CLIENT_SORTS, ClientType } from '../../contract/device-clients.ts';
import type { OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import type { AuditEntry, AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery, wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import { CREDENTIAL_PREFIX, hashToken, isSameSecret, randomText, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

const MAX_SECRETS = 2;
const HINT_LENGTH = 9;

/** Properties of a client that administrators choose. */
interface ClientProperties {
  /** Registered name. */
  readonly name: string;
  readonly type: ClientType;
  readonly redirectUris: readonly string[];
  /** The scopes it may request with the authorization code grant; undefined: all. */
  readonly scopes: readonly OauthScope[] | undefined;
}

/** An enabled client. */
export interface DeviceClient extends ClientProperties {
  readonly id: string;
  /** Host of the metadata document, for a client that no administrator registered. */
  readonly publisher?: string;
}

/** Id and secret of a client; a public one has no secret. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

/** Changes of a client, as in the contract: null lifts the restriction to scopes. */
interface ClientChange {
  readonly name?: string;
  readonly enabled?: boolean;
  readonly type?: ClientType;
  readonly redirect_uris?: readonly string[];
  readonly scopes?: readonly OauthScope[] | null;
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
  /** Clients that describe themselves at their id. */
  readonly documents: { find(id: string, clientIp: string): Promise<DeviceClient | undefined> };
}

/**
 * Registered clients, and those that describe themselves. Registered ones are read for every request, so disabling one
 * or retiring a secret takes effect immediately on every process.
 */
export class ClientService {
  readonly #dependencies: ClientServiceDependencies;

  constructor(dependencies: ClientServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Finds an enabled client by id alone, as the code endpoint requires. */
  async find(id: string): Promise<DeviceClient | undefined> {
    const row = await this.#dependencies.store.find(id);
    return row?.enabled === 1 ? toClient(id, row) : undefined;
  }

  /**
   * Like `find`, including clients that describe themselves at their id.
   *
   * @param clientIp whose request may cause a fetch
   */
  async findForGrant(id: string, clientIp: string): Promise<DeviceClient | undefined> {
    return (await this.find(id)) ?? this.#dependencies.documents.find(id, clientIp);
  }

  /** The enabled client of these credentials; undefined if they are wrong. */
  async authenticate(credentials: ClientCredentials, clientIp: string): Promise<DeviceClient | undefined> {
    const { clientId, clientSecret } = credentials;
    const rows = await this.#dependencies.store.findSecretHashes(clientId);
    if (rows.length === 0 && clientSecret === undefined) return this.#dependencies.documents.find(clientId, clientIp);
    const row = findAuthenticated(credentials, rows);
    return row && toClient(clientId, row);
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

  /**
   * Returns the secret of a confidential client in clear; only its hash is stored. @throws already_exists,
   * invalid_request
   */
  create(
    actor: Actor,
    {
      id = `client-${randomText(16)}`,
      type = 'confidential',
      ...change
    }: ClientChange & { readonly id?: string; readonly name: string },
  ): Promise<{ id: string; secret: string | undefined }> {
    const { database, store, clock } = this.#dependencies;
    const columns = { ...toColumns({ ...change, type }), name: change.name };
    return database.transaction(async (trx) => {
      if (!(await store.insert(trx, id, columns, clock.now())))
        throw new AppError('already_exists', { params: { what: 'client' } });
      const secret = type === 'public' ? undefined : (await this.#insertSecret(trx, id)).secret;
      await this.#audit(trx, actor, id, 'create', { after: columns });
      return { id, secret };
    });
  }

  /** A client that becomes public loses its secrets. @throws not_exist, invalid_request */
  async update(actor: Actor, id: string, change: ClientChange): Promise<void> {
    const { database, store } = this.#dependencies;
    const columns = toColumns(change);
    await database.transaction(async (trx) => {
      const before = await this.#lockExisting(trx, id);
      if (Object.keys(columns).length === 0) return;
      await store.update(trx, id, columns);
      if (columns.type === 'public') await store.deleteSecrets(trx, id);
      await this.#audit(trx, actor, id, 'update', { before, after: { ...before, ...columns } });
    });
  }

  /**
   * Removes a client; `revokeDependents` ends its sign-ins in the same transaction, given its name. @throws not_exist
   */
  async remove(
    actor: Actor,
    id: string,
    revokeDependents: (trx: Trx, name: string) => Promise<unknown>,
  ): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      const before = await this.#lockExisting(trx, id);
      await store.delete(trx, id);
      await revokeDependents(trx, before.name);
      await this.#audit(trx, actor, id, 'delete', { before });
    });
  }

  /** Adds a second secret. @throws not_exist, secrets_full, invalid_request for a public client */
  addSecret(actor: Actor, id: string): Promise<{ id: number; secret: string }> {
    const { database, store } = this.#dependencies;
    return database.transaction(async (trx) => {
      if ((await this.#lockExisting(trx, id)).type === 'public')
        throw invalidRequest('A public client has no secret.', 'type');
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
    action: 'create' | 'update' | 'delete' | 'add-secret' | 'remove-secret',
    change: Pick<AuditEntry, 'before' | 'after'>,
  ): Promise<void> {
    const { auditLog } = this.#dependencies;
    const target = `device-client:${id}`;
    await auditLog.record(trx, { ...actor, action: `device-client.${action}`, target, ...change });
  }

  async #insertSecret(trx: Trx, clientId: string): Promise<{ id: number; secret: string }> {
    const { store, clock } = this.#dependencies;
    const secret = randomToken(CREDENTIAL_PREFIX.clientSecret, 42, { checksum: true });
    const id = await store.insertSecret(trx, {
      client_id: clientId,
      hash: hashToken(secret),
      hint: secret.slice(0, HINT_LENGTH),
      created_at: clock.now(),
    });
    return { id, secret };
  }

  async #lockExisting(trx: Trx, id: string): Promise<ClientColumns> {
    const client = await this.#dependencies.store.lock(trx, id);
    if (client === undefined) throw notExistError('client');
    return client;
  }

  async #withSecrets(rows: readonly ClientRow[]): Promise<ClientListItem[]> {
    const secrets = await this.#dependencies.store.listSecrets(rows.map((row) => row.client_id));
    return rows.map((row) => ({
      ...toClient(row.client_id, row),
      enabled: row.enabled === 1,
      createdAt: row.created_at,
      devices: Number(row.devices),
      secrets: secrets
        .filter((secret) => secret.client_id === row.client_id)
        .map(({ id, hint, created_at }) => ({ id, hint, createdAt: created_at })),
    }));
  }
}

function toColumns({ name, enabled, type, redirect_uris: uris, scopes }: ClientChange): Partial<ClientColumns> {
  for (const uri of uris ?? [])
    if (!isRedirectUri(uri))
      throw invalidRequest(`"${uri}" is not a redirect URI that codes can be sent to`, 'redirect_uris');
  return defined({
    name,
    type,
    enabled: enabled === undefined ? undefined : enabled ? (1 as const) : (0 as const),
    redirect_uris: uris && JSON.stringify([...new Set(uris)]),
    scopes: scopes === null ? null : scopes && [...new Set(scopes)].join(' '),
  });
}

const toClient = (id: string, { name, type, redirect_uris, scopes }: Omit<ClientColumns, 'enabled'>): DeviceClient => ({
  id,
  name,
  type,
  redirectUris: JSON.parse(redirect_uris) as string[],
  scopes: scopes === null ? undefined : parseScopes(scopes),
});

/** The scopes of a column, in which they are separated by spaces. */
export const parseScopes = (column: string): OauthScope[] => column.split(' ').filter(Boolean) as OauthScope[];

/**
 * The row whose secret these credentials have, if the client is enabled. A public client has no secret and must send
 * none.
 */
export function findAuthenticated<Row extends Pick<SecretRow, 'enabled' | 'type' | 'secret_hash'>>(
  { clientSecret }: Pick<ClientCredentials, 'clientSecret'>,
  rows: readonly Row[],
): Row | undefined {
  const hash = hashToken(clientSecret ?? '');
  // Compares digests of every active secret, so that timing reveals neither which one matched nor how much of it.
  const [row] = rows.filter(({ type, secret_hash }) =>
    type === 'public' ? clientSecret === undefined : secret_hash !== null && isSameSecret(secret_hash, hash),
  );
  return row?.enabled === 1 ? row : undefined;
}

/** Schemes that run or read something in the browser instead of passing the code to a program. */
const FORBIDDEN_SCHEMES = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'filesystem:',
  'about:',
  'ws:',
  'wss:',
]);
/** A loopback URI, in the parts around its port (RFC 8252 section 7.3). */
const LOOPBACK_URI = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::[1-9]\d{0,4})?((?:[/?].*)?)$/;

/** Whether codes may be sent to this URI once it is registered. Without fragment, user info and wildcards. */
export function isRedirectUri(uri: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(uri) || /[#\\*<>"^`{|}]/.test(uri) || !URL.canParse(uri)) return false;
  const { protocol, username, password, hostname } = new URL(uri);
  if (username !== '' || password !== '' || FORBIDDEN_SCHEMES.has(protocol)) return false;
  if (protocol === 'http:') return LOOPBACK_URI.test(uri);
  return protocol !== 'https:' || hostname !== '';
}

/** Whether the URI is registered, character by character except for the port of a loopback address. */
export function isRegisteredUri(registered: readonly string[], uri: string): boolean {
  if (registered.includes(uri)) return true;
  const [, host, rest] = LOOPBACK_URI.exec(uri) ?? [];
  return (
    host !== undefined &&
    isRedirectUri(uri) &&
    registered.some((each) => {
      const [, ownHost, ownRest] = LOOPBACK_URI.exec(each) ?? [];
      return ownHost === host && ownRest === rest;
    })
  );
}

interface NewSecret {
  readonly client_id: string;
  readonly hash: string;
  readonly hint: string;
  readonly created_at: number;
}

type ClientColumns = Pick<
  Selectable<Tables['device_clients']>,
  'name' | 'enabled' | 'type' | 'redirect_uris' | 'scopes'
>;

/** A client with the hash of one of its active secrets; null if it has none. */
export interface SecretRow extends ClientColumns {
  readonly secret_hash: string | null;
}

/** A client as administrators see it. */
interface ClientRow extends ClientColumns {
  readonly client_id: string;
  readonly created_at: number;
  readonly devices: number | string | null;
}

type ClientSort = Sort<(typeof CLIENT_SORTS)[number]>;
const SORT_COLUMNS = { name: 'name', devices: 'devices', created: 'created_at' } as const;

const CLIENT_COLUMNS = ['name', 'enabled', 'type', 'redirect_uris', 'device_clients.scopes'] as const;

const clientById = prepareQuery<Tables, { id: string }>()((db, p) =>
  db.selectFrom('device_clients').select(CLIENT_COLUMNS).where('client_id', '=', p('id')),
);

const activeSecretsById = prepareQuery<Tables, { id: string }>()((db, p) =>
  db
    .selectFrom('device_clients')
    .leftJoin('device_client_secrets', 'device_client_secrets.client_id', 'device_clients.client_id')
    .select([...CLIENT_COLUMNS, 'device_client_secrets.hash as secret_hash'])
    .where('device_clients.client_id', '=', p('id')),
);

const clientsWithDeviceCount = (db: Executor) =>
  db
    .selectFrom('device_clients')
    .select(['client_id', ...CLIENT_COLUMNS, 'created_at'])
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

  find(id: string, db: Executor = this.#database.kysely): Promise<ClientColumns | undefined> {
    return clientById.first(db, { id });
  }

  /** One row for each active secret of the client, or one without a secret. */
  findSecretHashes(id: string): Promise<SecretRow[]> {
    return activeSecretsById.all(this.#database.kysely, { id });
  }

  /** Returns false if the id is taken. */
  async insert(
    trx: Trx,
    id: string,
    columns: Partial<ClientColumns> & Pick<ClientColumns, 'name'>,
    now: number,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('device_clients')
        .values({ enabled: 1, ...columns, client_id: id, created_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  /** Reads and locks a client, so that two administrators cannot add a third secret concurrently. */
  lock(trx: Trx, id: string): Promise<ClientColumns | undefined> {
    return trx
      .selectFrom('device_clients')
      .select(CLIENT_COLUMNS)
      .where('client_id', '=', id)
      .forUpdate()
      .executeTakeFirst();
  }

  async update(trx: Trx, id: string, columns: Partial<ClientColumns>): Promise<void> {
    await trx.updateTable('device_clients').set(columns).where('client_id', '=', id).execute();
  }

  async delete(trx: Trx, id: string): Promise<void> {
    await this.deleteSecrets(trx, id);
    await trx.deleteFrom('device_clients').where('client_id', '=', id).execute();
  }

  async deleteSecrets(trx: Trx, id: string): Promise<void> {
    await trx.deleteFrom('device_client_secrets').where('client_id', '=', id).execute();
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
