/** A name as it was meant: input methods for Chinese write full-width characters, and keyboards of phones add a blank. */
export const normalizeName = (typed: string): string => typed.normalize('NFKC').trim();

/** A code as it was meant: the same, without the blanks and dashes it is grouped by. */
export const normalizeTypedCode = (typed: string): string => typed.normalize('NFKC').replace(/[\s\p{Cf}\p{Pd}]/gu, '');
