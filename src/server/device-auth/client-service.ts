import { defined } from '../../contract/omit-undefined.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { AuditEntry, AuditLog } from '../accounts/audit-log.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import { hashToken, isSameSecret, randomText, randomToken } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import type { ClientRow, ClientSort, ClientStore, SecretRow } from './client-store.ts';

const MAX_SECRETS = 2;
const SECRET_PREFIX = 'rgcs_';
const HINT_LENGTH = 9;

/** An official client that is enabled. */
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

export interface ClientServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: ClientStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/**
 * Official clients. Nothing is cached between requests, so disabling one or retiring a secret takes effect at once on every process.
 */
export class ClientService {
  readonly #dependencies: ClientServiceDependencies;

  constructor(dependencies: ClientServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** By id alone, as the code endpoint requires. */
  async find(id: string): Promise<DeviceClient | undefined> {
    const row = await this.#dependencies.store.find(id);
    return row?.enabled === 1 ? { id, name: row.name } : undefined;
  }

  /** By id and one of the active secrets; undefined when anything is wrong. */
  async authenticate(id: string, secret: string): Promise<DeviceClient | undefined> {
    return verifyClientSecret(id, secret, await this.#dependencies.store.findSecretHashes(id));
  }

  /** The registered name, enabled or not; the id where the client was removed. */
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

  /** Returns the secret, which is stored nowhere. @throws already_exists */
  create(
    actor: Actor,
    { id = `client-${randomText(16)}`, name }: { readonly id?: string | undefined; readonly name: string },
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
    { name, enabled }: { readonly name?: string | undefined; readonly enabled?: boolean | undefined },
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

  /** Retires one of two. @throws not_exist, last_secret */
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

/** The client of these active secrets, where the secret is one of them and the client is enabled. */
export function verifyClientSecret(id: string, secret: string, rows: readonly SecretRow[]): DeviceClient | undefined {
  const hash = hashToken(secret);
  // Every active secret is compared, and only digests, so that timing reveals neither which one matched nor how much of it.
  const [row] = rows.filter(({ secret_hash }) => isSameSecret(secret_hash, hash));
  return row?.enabled === 1 ? { id, name: row.name } : undefined;
}
