import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

const selectDisabledTopic = prepareQuery<Tables, { user: number; topic: string }>()((db, p) =>
  db
    .selectFrom('notification_preferences')
    .select('topic')
    .where('user_id', '=', p('user'))
    .where('topic', '=', p('topic')),
);

/** Topics accounts have switched off; a row for each. */
export class PreferenceStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async isDisabled(db: Executor, user: number, topic: string): Promise<boolean> {
    return (await selectDisabledTopic.first(db, { user, topic })) !== undefined;
  }

  async listDisabled(user: number): Promise<ReadonlySet<string>> {
    const rows = await this.#database.kysely
      .selectFrom('notification_preferences')
      .select('topic')
      .where('user_id', '=', user)
      .execute();
    return new Set(rows.map((row) => row.topic));
  }

  async setEnabled(trx: Trx, user: number, topic: string, enabled: boolean): Promise<void> {
    if (enabled)
      await trx.deleteFrom('notification_preferences').where('user_id', '=', user).where('topic', '=', topic).execute();
    else
      await trx
        .insertInto('notification_preferences')
        .values({ user_id: user, topic })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
  }
}
