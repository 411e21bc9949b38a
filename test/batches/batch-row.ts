import type { Insertable } from 'kysely';
import type { Tables } from '../../src/server/tables.ts';

/** A row of a batch of `/v1/videos` that an account has completed. */
export const batchRow = (
  id: string,
  user_id: number,
  change: Partial<Insertable<Tables['batches']>> = {},
): Insertable<Tables['batches']> => ({
  ...{ id, user_id, token_id: 0, endpoint: '/v1/videos', model: null, metadata: null, input_file_id: 'file-x' },
  ...{ completion_window: '24h', budget: null, status: 'completed', ending: 'completed', errors: null },
  ...{ output_file_id: null, error_file_id: null, output_lifetime_ms: null, created_at: 1, expires_at: 2 },
  ...{ in_progress_at: 1, finalizing_at: 1, completed_at: 1, failed_at: null, expired_at: null, paused_at: null },
  ...{ cancelling_at: null, cancelled_at: null, retry_of: null, lease_owner: null },
  ...change,
});
