import type { ImportedUsage } from './account-key-and-code-import-store.ts';
import type { ImportedKey } from './mapping/api-keys.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import type { ImportedEndedTask } from './mapping/ended-tasks.ts';
import type { ImportedGroup } from './mapping/groups-to-plans.ts';
import type { Outcome } from './mapping/outcome.ts';
import type { ImportedCode } from './mapping/redemption-codes.ts';
import type { ImportedTask } from './mapping/unfinished-tasks.ts';
import type { ImportedUser } from './mapping/users.ts';
import type { ImportedModel } from './models-to-import.ts';
import type { ImportTarget } from './service-functions-for-import-types.ts';
import type { SourceSchema } from './source/detect-program.ts';
import type { SourceDatabase } from './source/source-database.ts';

/** A row of the source with what becomes of it. */
export interface MappedRow<T> {
  readonly sourceId: number;
  readonly outcome: Outcome<T>;
}

/** What is done with the rows of a source; each method gets one page at a time. It may turn rows down, which the findings show. */
export interface ImportVisitor {
  channels(rows: readonly MappedRow<readonly ImportedChannel[]>[]): Promise<void>;
  models(rows: readonly (readonly [string, Outcome<ImportedModel>])[]): Promise<void>;
  groups(rows: readonly (readonly [string, Outcome<ImportedGroup>])[]): Promise<void>;
  /** @returns the rows as they are dealt with: some may be there already */
  users(rows: readonly MappedRow<ImportedUser>[], usage: readonly ImportedUsage[]): Promise<MappedRow<ImportedUser>[]>;
  keys(rows: readonly MappedRow<ImportedKey>[]): Promise<MappedRow<ImportedKey>[]>;
  codes(rows: readonly MappedRow<ImportedCode>[]): Promise<MappedRow<ImportedCode>[]>;
  endedTasks(rows: readonly MappedRow<ImportedEndedTask>[]): Promise<MappedRow<ImportedEndedTask>[]>;
  tasks(rows: readonly MappedRow<ImportedTask>[]): Promise<MappedRow<ImportedTask>[]>;
}

export interface ReadContext {
  readonly source: SourceDatabase;
  readonly schema: SourceSchema;
  readonly target: ImportTarget;
  readonly now: number;
  /** Whether administrators of the source are administrators here. */
  readonly keepRoles: boolean;
  /** @param total rows of the table */
  onProgress(table: string, rows: number, total: number): void;
}
