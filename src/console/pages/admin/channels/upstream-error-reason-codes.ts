/** Why an upstream refused, and so what to do about it. */
export const ERROR_REASONS = [
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
export type ErrorReason = (typeof ERROR_REASONS)[number];

export const toErrorReason = (text: string): ErrorReason => ERROR_REASONS.find((reason) => reason === text) ?? 'other';
