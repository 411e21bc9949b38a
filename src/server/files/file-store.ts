import type { ExpressionBuilder, ExpressionWrapper, Selectable, SqlBool } from 'kysely';
import type { FilePurpose } from '../../contract/file-purposes.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Owner } from '../platform/http/route-registry.ts';
import type { Tables, Trx } from '../tables.ts';

/** A row of `files`. */
export type FileRow = Selectable<Tables['files']>;

/** A file with the user name of the member who uploaded it; null for a file of an account. */
export type AuthoredFile = FileRow & { readonly author: string | null };

/** Which files a list shows. */
export interface FileFilter {
  readonly purpose: FilePurpose | 'batch_output' | undefined;
  /** Id of the last file of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Files of batches hold prompts and answers: members of an organization have only their own. */
const OF_BATCHES = ['batch', 'batch_output'] as const;
const isOwn =
  ({ userId, actorId }: Owner) =>
  (eb: ExpressionBuilder<Tables, 'files'>): ExpressionWrapper<Tables, 'files', SqlBool> => {
    const isOfOwner = eb('user_id', '=', userId);
    if (actorId === undefined) return isOfOwner;
    return eb.and([isOfOwner, eb.or([eb('purpose', 'not in', OF_BATCHES), eb('actor_id', '=', actorId)])]);
  };

/** SQL of `files`. Expired rows are invisible before they are deleted. */
export class FileStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, row: FileRow): Promise<void> {
    await trx.insertInto('files').values(row).execute();
  }

  async count(userId: number): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('files')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  find(owner: Owner, id: string, now: number): Promise<AuthoredFile | undefined> {
    return this.#visible(now).where('id', '=', id).where(isOwn(owner)).executeTakeFirst();
  }

  findById(id: string, now: number): Promise<FileRow | undefined> {
    return this.#visible(now).where('id', '=', id).executeTakeFirst();
  }

  async list(owner: Owner, now: number, { purpose, after, limit, order }: FileFilter): Promise<AuthoredFile[]> {
    let query = this.#visible(now).where(isOwn(owner));
    if (purpose !== undefined) query = query.where('purpose', '=', purpose);
    if (after !== undefined) {
      const last = await this.find(owner, after, now);
      if (last === undefined) return [];
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), order === 'asc' ? '>' : '<', tuple(last.created_at, last.id)),
      );
    }
    return query.orderBy('created_at', order).orderBy('id', order).limit(limit).execute();
  }

  /** @returns false if there is no such file, or not of that member */
  async delete(trx: Trx, id: string, authorId?: number): Promise<boolean> {
    const query = trx.deleteFrom('files').where('id', '=', id);
    return wasChanged(
      await (authorId === undefined ? query : query.where('actor_id', '=', authorId)).executeTakeFirst(),
    );
  }

  async deleteEnded(now: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('files').where('expires_at', '<=', now).execute();
    await kysely
      .deleteFrom('files')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'files.user_id')
            .where('accounts.removed_at', 'is not', null),
        ),
      )
      .execute();
  }

  #visible(now: number) {
    return this.#database.kysely
      .selectFrom('files')
      .selectAll()
      .select((row) =>
        row.selectFrom('accounts').select('username').whereRef('accounts.id', '=', 'files.actor_id').as('author'),
      )
      .where('expires_at', '>', now);
  }
}
