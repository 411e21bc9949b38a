import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';
import type { ArtifactRow } from './artifact-store.ts';

/** A stored video whose end is near. */
export type EndingCopy = Pick<ArtifactRow, 'id' | 'task_id' | 'user_id' | 'expires_at'>;

/** SQL that finds stored videos whose owners are to be told of their end. */
export class ExpiryNoticeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Stored videos that end within `noticeMs`, or have passed half of their time if they had less than twice as much; not told yet. */
  listEnding(now: number, noticeMs: number, limit: number): Promise<EndingCopy[]> {
    return this.#database.kysely
      .selectFrom('artifacts')
      .select(['id', 'task_id', 'user_id', 'expires_at'])
      .where('state', '=', 'stored')
      .where('variant', '=', 'video')
      .where('is_announced', '=', 0)
      .where('expires_at', '<=', now + noticeMs)
      .where(sql<boolean>`(expires_at - ${now}) * 2 <= expires_at - stored_at`)
      .orderBy('expires_at')
      .limit(limit)
      .execute();
  }

  /** @returns those of them that nobody was told of */
  markAnnounced(trx: Trx, ids: readonly string[]): Promise<EndingCopy[]> {
    return trx
      .updateTable('artifacts')
      .set({ is_announced: 1 })
      .where('id', 'in', [...ids])
      .where('is_announced', '=', 0)
      .where('state', '=', 'stored')
      .returning(['id', 'task_id', 'user_id', 'expires_at'])
      .execute();
  }
}
