import type { Trx } from '../../tables.ts';

/** Claims an idempotency key inside the transaction that reserves the quota and inserts the task. */
export type ClaimKeyInTransaction = (trx: Trx, taskId: string) => Promise<void>;
