const PREFIX = 'fact:';
/** Digits for more rows than a test writes, so that names sort by number. */
const DIGITS = 9;

/** The `meta` row that proves that an event was reported. */
export const reportedEventRowName = (number: number): string => PREFIX + String(number).padStart(DIGITS, '0');

/** The event's number in the name of its row. */
export const reportedEventNumber = (name: string): number => Number(name.slice(PREFIX.length));

/** Range of row names: from `first` (inclusive) to `end` (exclusive). */
export const REPORTED_EVENT_ROW_NAMES = { first: PREFIX, end: 'fact;' };
