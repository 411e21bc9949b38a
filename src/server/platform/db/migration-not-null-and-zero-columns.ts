import type { ColumnBuilderCallback, ColumnDefinitionBuilder, SchemaModule } from 'kysely';

/** What a migration makes tables and indexes with. */
export type Schema = SchemaModule;

/** A column that is never null. */
export const required: ColumnBuilderCallback = (column) => column.notNull();

/** A number that begins at zero. */
export const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);
