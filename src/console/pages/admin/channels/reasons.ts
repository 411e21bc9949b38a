/** Why an upstream refused, and so what to do about it. */
export const REASONS = [
  'unreachable',
  'auth',
  'billing',
  'rate',
  'capacity',
  'model',
  'user',
  'policy',
  'missing',
  'other',
] as const;
export type Reason = (typeof REASONS)[number];

export const toReason = (text: string): Reason => REASONS.find((reason) => reason === text) ?? 'other';
