import type { Channel } from '../../channels/directory.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

type BoundedChannel = Pick<Channel, 'id' | 'credentialId' | 'maxConcurrentTasks'>;

/**
 * Keeps the unfinished tasks of an upstream account within the bound of its channel, whatever number of processes submits. A vendor refuses
 * what is beyond its own bound, and some count what they refused.
 */
export class ChannelTaskLimitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Those that are not full at this moment, as a first look: {@link take} decides. */
  async withRoom<T extends BoundedChannel>(channels: readonly T[]): Promise<readonly T[]> {
    if (channels.every((channel) => channel.maxConcurrentTasks === undefined)) return channels;
    const hasRoom = await Promise.all(channels.map((channel) => this.#hasRoom(this.#database.kysely, channel)));
    return channels.filter((_, index) => hasRoom[index]);
  }

  /**
   * In the transaction that gives the channel a task, before anything else in it. The row of the channel is locked until then, so that
   * submits over it, on any process, count one after the other.
   *
   * @returns false where it is full
   */
  async take(trx: Trx, channel: BoundedChannel): Promise<boolean> {
    if (channel.maxConcurrentTasks === undefined) return true;
    await trx.selectFrom('channels').select('id').where('id', '=', channel.id).forUpdate().execute();
    return this.#hasRoom(trx, channel);
  }

  /** Reads at most as many rows as there may be. */
  async #hasRoom(executor: Executor, { id, credentialId, maxConcurrentTasks: most }: BoundedChannel): Promise<boolean> {
    if (most === undefined) return true;
    const last = await executor
      .selectFrom('tasks')
      .select('channel_id')
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('next_poll_at', 'is not', null)
      .offset(most - 1)
      .limit(1)
      .executeTakeFirst();
    return last === undefined;
  }
}
