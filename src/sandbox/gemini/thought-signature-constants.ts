/** Stands beside the calls of the simulated model, which takes them back with no other. */
export const SIGNATURE = Buffer.from('sandbox thought').toString('base64');
/** The value Google documents for calls of other models. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';
