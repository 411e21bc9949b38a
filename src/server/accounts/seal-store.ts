import type { Kysely } from 'kysely';
import type { SealedCells } from '../platform/resealing.ts';
import type { SealedPlace } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';

export const secretPlace = (userId: number): SealedPlace => ({ table: 'two_factors', row: userId, column: 'secret' });

/** The secrets of two-step verification. Codes sent to phones are sealed too, but live for minutes. */
export const sealedSecrets = (kysely: Kysely<Tables>): SealedCells => ({
  async read(after) {
    const rows = await kysely
      .selectFrom('two_factors')
      .select(['user_id', 'secret'])
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(500)
      .execute();
    return rows.map(({ user_id: id, secret }) => ({ id, place: secretPlace(id), sealed: secret }));
  },
  replace: ({ id, sealed: old }, secret) =>
    kysely.updateTable('two_factors').set({ secret }).where('user_id', '=', id).where('secret', '=', old).execute(),
});
