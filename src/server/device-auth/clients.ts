import type { Transaction } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Audit, AuditEntry } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import { hashToken, isSameSecret, randomText, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import {
  deleteClient,
  deleteSecret,
  findClient,
  findSecrets,
  insertClient,
  insertSecret,
  listClients,
  listSecrets,
  lockClient,
  readClient,
  updateClient,
} from './client-store.ts';

type Trx = Transaction<Tables>;

/** An official client that is switched on. */
export interface Client {
  readonly id: string;
  /** Registered name. */
  readonly name: string;
}

/** Times are Unix milliseconds. */
export interface ShownClient extends Client {
  readonly enabled: boolean;
  readonly createdAt: number;
  /** Signed-in devices. */
  readonly devices: number;
  readonly secrets: readonly { readonly id: number; readonly hint: string; readonly createdAt: number }[];
}

/** Who changes a client, for the audit log. */
export type Actor = Required<Pick<AuditEntry, 'actorId' | 'address' | 'requestId'>>;

/** Official clients. Nothing is remembered between requests, so the switch and a retired secret hold at once everywhere. */
export interface Clients {
  /** By id alone, as the code endpoint asks. */
  find(id: string): Promise<Client | undefined>;
  /** By id and one of the active secrets; undefined when anything is wrong. */
  authenticate(id: string, secret: string): Promise<Client | undefined>;
  /** The registered name, the switch aside. */
  nameOf(trx: Trx, id: string): Promise<string>;
  list(page: Page): Promise<{ rows: ShownClient[]; total: number }>;
  /** @throws not_exist */
  get(id: string): Promise<ShownClient>;
  /** Answers the secret, which is stored nowhere. @throws already_exists */
  make(
    actor: Actor,
    client: { readonly id?: string | undefined; readonly name: string },
  ): Promise<{ id: string; secret: string }>;
  /** @throws not_exist */
  change(
    actor: Actor,
    id: string,
    change: { readonly name?: string | undefined; readonly enabled?: boolean | undefined },
  ): Promise<void>;
  /** Removes a client; `also` ends what it holds, in the same transaction. @throws not_exist */
  remove(actor: Actor, id: string, also: (trx: Trx) => Promise<unknown>): Promise<void>;
  /** Adds a second secret. @throws not_exist, secrets_full */
  addSecret(actor: Actor, id: string): Promise<{ id: number; secret: string }>;
  /** Retires one of two. @throws not_exist, last_secret */
  removeSecret(actor: Actor, id: string, secretId: number): Promise<void>;
}

/** The client whose active secrets these are, where one of them was shown and it is switched on. */
export function matchClient(
  id: string,
  secret: string,
  rows: readonly { readonly name: string; readonly enabled: 0 | 1; readonly secret_hash: string }[],
): Client | undefined {
  const hash = hashToken(secret);
  // Every active secret is compared, and digests only, so that time tells neither which matched nor how much of it.
  const [row] = rows.filter(({ secret_hash }) => isSameSecret(secret_hash, hash));
  return row?.enabled === 1 ? { id, name: row.name } : undefined;
}

const MOST_SECRETS = 2;

export function makeClients(database: Database<Tables>, clock: Clock, audit: Audit): Clients {
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';

  const record = (
    trx: Trx,
    actor: Actor,
    id: string,
    action: string,
    change: Pick<AuditEntry, 'before' | 'after'> = {},
  ) => audit.record(trx, { ...actor, action: `device-client.${action}`, target: `device-client:${id}`, ...change });

  const newSecret = async (trx: Trx, clientId: string): Promise<{ id: number; secret: string }> => {
    const secret = randomToken('rgcs_', 42, { checksum: true });
    const id = await insertSecret(trx, {
      client_id: clientId,
      hash: hashToken(secret),
      hint: secret.slice(0, 9),
      created_at: clock.now(),
    });
    return { id, secret };
  };

  const held = async (trx: Trx, id: string) => {
    const client = await lockClient(trx, postgres, id);
    if (client === undefined) throw notExist('client');
    return client;
  };

  const withSecrets = async (
    rows: readonly NonNullable<Awaited<ReturnType<typeof readClient>>>[],
  ): Promise<ShownClient[]> => {
    const secrets = await listSecrets(
      kysely,
      rows.map((row) => row.client_id),
    );
    return rows.map((row) => ({
      id: row.client_id,
      name: row.name,
      enabled: row.enabled === 1,
      createdAt: row.created_at,
      devices: Number(row.devices ?? 0),
      secrets: secrets
        .filter((secret) => secret.client_id === row.client_id)
        .map(({ id, hint, created_at }) => ({ id, hint, createdAt: created_at })),
    }));
  };

  return {
    async find(id) {
      const row = await findClient(kysely, id);
      return row?.enabled === 1 ? { id, name: row.name } : undefined;
    },
    async authenticate(id, secret) {
      return matchClient(id, secret, await findSecrets(kysely, id));
    },
    nameOf: async (trx, id) => (await findClient(trx, id))?.name ?? id,
    async list(page) {
      const { rows, total } = await listClients(kysely, page);
      return { rows: await withSecrets(rows), total };
    },
    async get(id) {
      const row = await readClient(kysely, id);
      const [client] = row === undefined ? [] : await withSecrets([row]);
      if (client === undefined) throw notExist('client');
      return client;
    },
    make: (actor, { id = `client-${randomText(16)}`, name }) =>
      database.transaction(async (trx) => {
        if (!(await insertClient(trx, id, name, clock.now()))) {
          throw new AppError('already_exists', { params: { what: 'client' } });
        }
        const { secret } = await newSecret(trx, id);
        await record(trx, actor, id, 'create', { after: { name } });
        return { id, secret };
      }),
    change: (actor, id, { name, enabled }) =>
      database.transaction(async (trx) => {
        const before = await held(trx, id);
        const change = {
          ...(name === undefined ? {} : { name }),
          ...(enabled === undefined ? {} : { enabled: enabled ? (1 as const) : (0 as const) }),
        };
        if (Object.keys(change).length === 0) return;
        await updateClient(trx, id, change);
        await record(trx, actor, id, 'update', { before, after: { ...before, ...change } });
      }),
    remove: (actor, id, also) =>
      database.transaction(async (trx) => {
        const before = await held(trx, id);
        await deleteClient(trx, id);
        await also(trx);
        await record(trx, actor, id, 'delete', { before });
      }),
    addSecret: (actor, id) =>
      database.transaction(async (trx) => {
        await held(trx, id);
        if ((await listSecrets(trx, [id])).length >= MOST_SECRETS) throw new AppError('secrets_full');
        const made = await newSecret(trx, id);
        await record(trx, actor, id, 'add-secret', { after: { secret: made.id } });
        return made;
      }),
    removeSecret: (actor, id, secretId) =>
      database.transaction(async (trx) => {
        await held(trx, id);
        const secrets = await listSecrets(trx, [id]);
        if (!secrets.some((secret) => secret.id === secretId)) throw notExist('secret');
        if (secrets.length === 1) throw new AppError('last_secret');
        await deleteSecret(trx, id, secretId);
        await record(trx, actor, id, 'remove-secret', { before: { secret: secretId } });
      }),
  };
}
