import type { Kysely } from 'kysely';
import type { SealContext, SealedColumn } from '../../platform/vault.ts';
import type { Tables } from '../../tables.ts';

const BATCH = 500;

export const twoFactorSecretCell = (userId: number): SealContext => ({
  table: 'two_factors',
  row: userId,
  column: 'secret',
});

/** The secrets of two-step verification. Codes sent to phones are sealed too, but live for minutes. */
export const sealedTwoFactorSecrets = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('two_factors')
      .select(['user_id', 'secret'])
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(BATCH)
      .execute();
    return rows.map(({ user_id: id, secret }) => ({ id, context: twoFactorSecretCell(id), sealed: secret }));
  },
  replace: ({ id, sealed: old }, secret) =>
    kysely.updateTable('two_factors').set({ secret }).where('user_id', '=', id).where('secret', '=', old).execute(),
});
