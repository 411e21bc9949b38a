import type { Selectable } from 'kysely';
import { defined } from '../../contract/omit-undefined.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type PreferenceRow = Selectable<Tables['notification_preferences']>;
/** What an account has said of a topic; null: nothing. */
export type TopicPreference = Pick<PreferenceRow, 'in_app' | 'mail'>;

const NOTHING_SAID: TopicPreference = { in_app: null, mail: null };

const selectPreference = prepareQuery<Tables, { user: number; topic: string }>()((db, p) =>
  db
    .selectFrom('notification_preferences')
    .select(['in_app', 'mail'])
    .where('user_id', '=', p('user'))
    .where('topic', '=', p('topic')),
);

/** What accounts have said of topics; a row for each. */
export class PreferenceStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async find(db: Executor, user: number, topic: string): Promise<TopicPreference> {
    return (await selectPreference.first(db, { user, topic })) ?? NOTHING_SAID;
  }

  async list(user: number): Promise<ReadonlyMap<string, TopicPreference>> {
    const rows = await this.#database.kysely
      .selectFrom('notification_preferences')
      .selectAll()
      .where('user_id', '=', user)
      .execute();
    return new Map(rows.map((row) => [row.topic, row]));
  }

  /** Changes one or both channels. */
  async set(trx: Trx, user: number, topic: string, { in_app, mail }: Partial<TopicPreference>): Promise<void> {
    const change = defined({ in_app, mail });
    await trx
      .insertInto('notification_preferences')
      .values({ user_id: user, topic, ...NOTHING_SAID, ...change })
      .onConflict((conflict) => conflict.columns(['user_id', 'topic']).doUpdateSet(change))
      .execute();
  }
}
