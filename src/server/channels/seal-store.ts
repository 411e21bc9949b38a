import type { Kysely } from 'kysely';
import type { SealedCells } from '../platform/resealing.ts';
import type { Tables } from '../tables.ts';
import { placeOf } from './seal.ts';

/** The credentials of all channels. */
export const sealedCredentials = (kysely: Kysely<Tables>): SealedCells => ({
  async read(after) {
    const rows = await kysely
      .selectFrom('channels')
      .select(['id', 'credentials'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(500)
      .execute();
    return rows.map(({ id, credentials }) => ({ id, place: placeOf(id), sealed: credentials }));
  },
  replace: ({ id, sealed: old }, credentials) =>
    kysely.updateTable('channels').set({ credentials }).where('id', '=', id).where('credentials', '=', old).execute(),
});
