import type { Generated } from 'kysely';
import type { VendorId } from '../../../contract/vendor-ids.ts';
import { type MigrationTransaction, required } from '../../platform/db/migrate.ts';
import type { Dialect } from '../../platform/db/sql.ts';

export interface ReconciliationTables {
  /** One row for each reading of a vendor's account. Amounts of units are in millionths. Never changed. */
  reconciliations: {
    id: Generated<number>;
    channel_id: number;
    vendor: VendorId;
    unit: string;
    /** Unix milliseconds of the reading before; null for the first. */
    from_time: number | null;
    to_time: number;
    /** The usage counter as the vendor gave it: ascends with what it takes. */
    counter: number;
    videos: number;
    settled_units: number;
    settled_quota: number;
    /** Null where the counter went back: the account was topped up, or is another one. */
    billed_units: number | null;
  };
  /** How reading each channel's account went; overwritten. */
  account_reads: {
    channel_id: number;
    /** Unix milliseconds of the last reading that worked, and of a failure after it. */
    read_at: number | null;
    failed_at: number | null;
    /** Why it failed; empty after a reading that worked. */
    error: string;
  };
}

export async function createReconciliations(
  trx: MigrationTransaction,
  { int64, text, autoIncrement }: Dialect,
): Promise<void> {
  await trx.schema
    .createTable('reconciliations')
    .addColumn('id', int64, autoIncrement)
    .addColumn('channel_id', int64, required)
    .addColumn('vendor', text, required)
    .addColumn('unit', text, required)
    .addColumn('from_time', int64)
    .addColumn('to_time', int64, required)
    .addColumn('counter', int64, required)
    .addColumn('videos', int64, required)
    .addColumn('settled_units', int64, required)
    .addColumn('settled_quota', int64, required)
    .addColumn('billed_units', int64)
    .execute();
  await trx.schema
    .createTable('account_reads')
    .addColumn('channel_id', int64, (column) => column.primaryKey())
    .addColumn('read_at', int64)
    .addColumn('failed_at', int64)
    .addColumn('error', text, required)
    .execute();
  await trx.schema
    .createIndex('reconciliations_by_channel')
    .on('reconciliations')
    .columns(['channel_id', 'to_time'])
    .unique()
    .execute();
}
