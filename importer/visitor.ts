import type { ImportedUsage } from './import-store.ts';
import type { ImportTarget } from './import-target.ts';
import type { ImportedKey, ImportedUser } from './mapping/accounts.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import type { ImportedModel } from './mapping/models.ts';
import type { ImportedCode, ImportedGroup } from './mapping/plans.ts';
import type { ImportedEndedTask, ImportedTask } from './mapping/tasks.ts';
import type { Outcome } from './mapping/values.ts';
import type { StoredModel } from './model-store.ts';
import type { SourceDatabase, SourceSchema } from './source.ts';

/** A row of the source with its outcome. */
export interface MappedRow<T> {
  readonly sourceId: number;
  readonly outcome: Outcome<T>;
}

/**
 * Handles the rows of a source; each method receives one page at a time. A method may reject rows, which the findings
 * show.
 */
export interface ImportVisitor {
  channels(rows: readonly MappedRow<readonly ImportedChannel[]>[]): Promise<void>;
  /** @returns the models that were here already, as they were */
  models(rows: readonly (readonly [string, Outcome<ImportedModel>])[]): Promise<ReadonlyMap<string, StoredModel>>;
  groups(rows: readonly (readonly [string, Outcome<ImportedGroup>])[]): Promise<void>;
  /** @returns the rows with their final outcome: some may already exist */
  users(rows: readonly MappedRow<ImportedUser>[], usage: readonly ImportedUsage[]): Promise<MappedRow<ImportedUser>[]>;
  keys(rows: readonly MappedRow<ImportedKey>[]): Promise<MappedRow<ImportedKey>[]>;
  codes(rows: readonly MappedRow<ImportedCode>[]): Promise<MappedRow<ImportedCode>[]>;
  endedTasks(rows: readonly MappedRow<ImportedEndedTask>[]): Promise<MappedRow<ImportedEndedTask>[]>;
  tasks(rows: readonly MappedRow<ImportedTask>[]): Promise<MappedRow<ImportedTask>[]>;
}

/** The inputs of reading a source. */
export interface ReadContext {
  readonly source: SourceDatabase;
  readonly schema: SourceSchema;
  readonly target: ImportTarget;
  readonly now: number;
  /** Whether administrators of the source stay administrators. */
  readonly keepRoles: boolean;
  /** @param total number of rows in the table */
  onProgress(table: string, rows: number, total: number): void;
}

/** The values of a page's imported rows. */
export const valuesOf = <T>(rows: readonly MappedRow<T>[]): T[] =>
  rows.flatMap(({ outcome }) => (outcome.kind === 'mapped' ? [outcome.value] : []));
