import type { CLIENT_SORTS } from '../../contract/admin-device-clients.ts';
import type { Sort } from '../../contract/list-sorting.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export interface NewSecret {
  readonly client_id: string;
  readonly hash: string;
  readonly hint: string;
  readonly created_at: number;
}

/** A client's name and switch beside the hash of one of its active secrets. */
export interface SecretRow {
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly secret_hash: string;
}

/** A client as administrators see it. */
export interface ClientRow {
  readonly client_id: string;
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly created_at: number;
  readonly devices: number | string | null;
}

export type ClientSort = Sort<(typeof CLIENT_SORTS)[number]>;
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

  /** A row for each active secret of the client. */
  findSecretHashes(id: string): Promise<SecretRow[]> {
    return activeSecretsById.all(this.#database.kysely, { id });
  }

  /** False where the id is taken. */
  async insert(trx: Trx, id: string, name: string, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('device_clients')
        .values({ client_id: id, name, enabled: 1, created_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  /** Reads and locks a client, so that two administrators cannot add a third secret at once. */
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
