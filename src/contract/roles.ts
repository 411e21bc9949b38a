/** What an account may do; rank upwards. `root` is the first account's. */
export const ROLES = ['user', 'admin', 'root'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role stands above another. */
export const outranks = (one: Role, other: Role): boolean => ROLES.indexOf(one) > ROLES.indexOf(other);

/**
 * The one rule of who may make or change whom, what belongs to them included: everybody only what stands below, and root
 * everything. It is asked for the role an account has and for the one it is to get.
 */
export const mayManage = (actor: Role, role: Role): boolean => actor === 'root' || outranks(actor, role);
