const MONTH_AND_DAY = '(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\\d|3[01])';
/** `-2026-06-12`, `-20260612` or `-260612` at the end of a name. */
const DATE = new RegExp(`-(?:20)?\\d{2}-?${MONTH_AND_DAY}$`);

/** A dated release has the fields and prices of its line of models: `wan2.7-t2v-2026-06-12` is `wan2.7-t2v`. */
export const undatedModel = (model: string): string => model.replace(DATE, '');
