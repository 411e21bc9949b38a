/** Rank upwards; nobody manages one at or above his own rank but root. */
export const ROLES = ['user', 'admin', 'root'] as const;
export type Role = (typeof ROLES)[number];
