import type { Kysely } from 'kysely';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';
import type { CodeRow } from './code-store.ts';

/** A client with one of its active secrets, and the record of the device_code where there is one. */
export interface PollRow extends Omit<CodeRow, 'id' | 'client_id'> {
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly secret_hash: string;
  /** Null: no such code. */
  readonly id: number | null;
  readonly client_id: string | null;
}

const poll = prepare<Tables, { client: string; hash: string; now: number }>()((db, p) =>
  db
    .selectFrom('device_clients')
    .innerJoin('device_client_secrets', 'device_client_secrets.client_id', 'device_clients.client_id')
    .leftJoin('device_codes', (join) =>
      join.on('device_codes.device_code_hash', '=', p('hash')).on('device_codes.sweep_at', '>', p('now')),
    )
    .selectAll('device_codes')
    .select(['device_clients.name', 'device_clients.enabled', 'device_client_secrets.hash as secret_hash'])
    .where('device_clients.client_id', '=', p('client')),
);

/**
 * Everything a poll is judged by, in one question: it is what devices ask most. A row for each active secret of the client;
 * none where there is no such client.
 */
export const findPoll = (db: Kysely<Tables>, client: string, hash: string, now: number): Promise<PollRow[]> =>
  poll.all(db, { client, hash, now }) as Promise<PollRow[]>;

/** The record in a row, or undefined where the code is unknown. */
export const codeOf = (row: PollRow | undefined): CodeRow | undefined =>
  row === undefined || row.id === null || row.client_id === null ? undefined : (row as CodeRow);
