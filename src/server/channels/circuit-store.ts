import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { ChannelAccount } from '../upstreams/upstream.ts';
import type { StoredCircuit } from './circuit-breaker.ts';

/** SQL of circuits that are open, or were and have not been closed by a success yet. */
export class CircuitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Of one channel, or of all. */
  async find(channelId?: number): Promise<(StoredCircuit & { readonly account: ChannelAccount })[]> {
    let query = this.#database.kysely.selectFrom('channel_circuits').selectAll();
    if (channelId !== undefined) query = query.where('channel_id', '=', channelId);
    return (await query.execute()).map((row) => ({
      account: { id: row.channel_id, credentialId: row.credential_id },
      model: row.model,
      timesOpened: row.times_opened,
      openUntil: row.open_until,
      trialUntil: row.trial_until,
      reason: row.reason,
    }));
  }

  /** Of two processes that open it at once, the later end counts. */
  async open(account: ChannelAccount, { model, timesOpened, openUntil, reason }: StoredCircuit): Promise<void> {
    await this.#database.kysely
      .insertInto('channel_circuits')
      .values({
        channel_id: account.id,
        credential_id: account.credentialId,
        model,
        times_opened: timesOpened,
        open_until: openUntil,
        trial_until: 0,
        reason,
      })
      .onConflict((conflict) =>
        conflict.columns(['channel_id', 'credential_id', 'model']).doUpdateSet((eb) => ({
          times_opened: eb.ref('excluded.times_opened'),
          open_until: sql<number>`case when excluded.open_until > channel_circuits.open_until then excluded.open_until else channel_circuits.open_until end`,
          trial_until: 0,
          reason: eb.ref('excluded.reason'),
        })),
      )
      .execute();
  }

  async close({ id, credentialId }: ChannelAccount, model: string): Promise<void> {
    await this.#database.kysely
      .deleteFrom('channel_circuits')
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('model', '=', model)
      .execute();
  }

  /** Begins a trial of circuits whose time has passed. @returns false when another process tries them, or they are closed */
  async beginTrial(
    { id, credentialId }: ChannelAccount,
    models: readonly string[],
    now: number,
    until: number,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('channel_circuits')
      .set({ trial_until: until })
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('model', 'in', models)
      .where('open_until', '<=', now)
      .where('trial_until', '<=', now)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }
}
