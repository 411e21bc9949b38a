import type { Transaction } from 'kysely';
import type { Tokens } from '../accounts/tokens.ts';
import type { Tables } from '../tables.ts';
import { deleteAuthorizations, type Ended, type Which } from './authorization-store.ts';
import { dropCodes } from './code-store.ts';

/**
 * Ends devices and answers those this call ended: access_token and refresh_token go with the row, the llm_token is revoked,
 * the record of the code is deleted. Their refresh_tokens stay known, so that a later use is told "revoked".
 */
export type EndDevices = (trx: Transaction<Tables>, which: Which) => Promise<readonly Ended[]>;

export const makeEndDevices =
  (tokens: Pick<Tokens, 'revokeLlm'>): EndDevices =>
  async (trx, which) => {
    const ended = await deleteAuthorizations(trx, which);
    for (const { user_id, llm_token_id } of ended) await tokens.revokeLlm(trx, user_id, llm_token_id);
    await dropCodes(
      trx,
      ended.map(({ id }) => id),
    );
    return ended;
  };
