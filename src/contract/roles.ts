/** Roles of accounts, in ascending rank. `root` is the role of the first account. */
export const ROLES = ['user', 'admin', 'root'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role ranks above another. */
export const outranks = (one: Role, other: Role): boolean => ROLES.indexOf(one) > ROLES.indexOf(other);

/**
 * The only rule for who may create or change an account and what belongs to it: everybody only lower ranks, and root
 * everything. It applies to the role an account has and to the one it is to get.
 */
export const canManage = (actor: Role, role: Role): boolean => actor === 'root' || outranks(actor, role);
