import { type SqlBool, sql } from 'kysely';

/**
 * Condition: a `text` column contains these words as they are written, whatever the case of A to Z. Both engines fold only
 * those letters in a column compared by bytes, so the words are folded no further: `É` finds `É`.
 *
 * @param column a name from our own code
 */
export const containsText = (column: string, words: string) =>
  sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${foldAscii(words).replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`;

const foldAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
