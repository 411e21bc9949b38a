import { type Kysely, sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { SlotStore } from './concurrency-slots.ts';
import type { RateLimitTables } from './tables.ts';

const HOLDERS_PER_UPDATE = 500;

/**
 * Slots in PostgreSQL, for several processes without a Valkey. A key's slots are numbered from 1 to its maximum and the number
 * is part of the primary key, so that no order of events admits more, without a lock.
 */
export function postgresSlots(kysely: Kysely<RateLimitTables>, name: string, clock: Clock): SlotStore {
  const rowKey = (key: string): string => `${name}:${key}`;
  const findFree = async (key: string, max: number, now: number): Promise<number | undefined> => {
    const { rows } = await sql<{ slot: number }>`
      select slot from generate_series(1, ${sql.lit(max)}) as slot
      where not exists (select 1 from limit_slots as held where held.key = ${rowKey(key)} and held.slot = slot.slot and held.ends_at > ${now})
      order by random() limit 1`.execute(kysely);
    return rows[0]?.slot;
  };
  return {
    async acquire({ key, holder }, max, ttlMs) {
      for (;;) {
        const now = clock.now();
        const slot = await findFree(key, max, now);
        if (slot === undefined) return false;
        const row = { key: rowKey(key), slot, holder, ends_at: now + ttlMs };
        const taken = await kysely
          .insertInto('limit_slots')
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(['key', 'slot'])
              .doUpdateSet({ holder, ends_at: row.ends_at })
              .where('limit_slots.ends_at', '<=', now),
          )
          .returning('slot')
          .executeTakeFirst();
        if (taken !== undefined) return true;
        // Another process took it in between; each turn of this loop means that somebody got one.
      }
    },
    async renew(slots, ttlMs) {
      const holders = slots.map(({ holder }) => holder);
      for (let at = 0; at < holders.length; at += HOLDERS_PER_UPDATE)
        await kysely
          .updateTable('limit_slots')
          .set({ ends_at: clock.now() + ttlMs })
          .where('holder', 'in', holders.slice(at, at + HOLDERS_PER_UPDATE))
          .execute();
    },
    async release({ key, holder }) {
      await kysely.deleteFrom('limit_slots').where('key', '=', rowKey(key)).where('holder', '=', holder).execute();
    },
  };
}
