const PREFIX = 'fact:';
/** Of more facts than a test makes, so that the order of names is that of numbers. */
const DIGITS = 9;

/** The row of `meta` that says that an event was reported. */
export const reportedEventRowName = (number: number): string => PREFIX + String(number).padStart(DIGITS, '0');

export const reportedEventNumber = (name: string): number => Number(name.slice(PREFIX.length));

/** Names of facts are from `first` on and before `end`. */
export const REPORTED_EVENT_ROW_NAMES = { first: PREFIX, end: 'fact;' };
