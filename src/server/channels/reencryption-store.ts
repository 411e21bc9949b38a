import type { Kysely } from 'kysely';
import type { SealedColumn } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { connectionCell, credentialCell } from './credential-and-connection-encryption.ts';

/** The credentials of all channels. */
export const sealedCredentials = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('channels')
      .select(['id', 'credentials'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(500)
      .execute();
    return rows.map(({ id, credentials }) => ({ id, context: credentialCell(id), sealed: credentials }));
  },
  replace: ({ id, sealed: old }, credentials) =>
    kysely.updateTable('channels').set({ credentials }).where('id', '=', id).where('credentials', '=', old).execute(),
});

/** The extra headers and proxies of the channels that have any. */
export const sealedConnections = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('channels')
      .select(['id', 'connection'])
      .where('id', '>', after)
      .where('connection', 'is not', null)
      .orderBy('id')
      .limit(500)
      .execute();
    return rows.map(({ id, connection }) => ({ id, context: connectionCell(id), sealed: connection ?? '' }));
  },
  replace: ({ id, sealed: old }, connection) =>
    kysely.updateTable('channels').set({ connection }).where('id', '=', id).where('connection', '=', old).execute(),
});
