import type { ImportedUsage } from './import-store.ts';
import type { ImportTarget } from './import-target.ts';
import type { ImportedKey, ImportedUser } from './mapping/accounts.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import type { ImportedModel } from './mapping/models.ts';
import type { ImportedCode, ImportedGroup } from './mapping/plans.ts';
import type { ImportedEndedTask, ImportedTask } from './mapping/tasks.ts';
import type { Outcome } from './mapping/values.ts';
import type { SourceDatabase, SourceSchema } from './source.ts';

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

/** What comes over of a page of rows. */
export const valuesOf = <T>(rows: readonly MappedRow<T>[]): T[] =>
  rows.flatMap(({ outcome }) => (outcome.kind === 'mapped' ? [outcome.value] : []));
