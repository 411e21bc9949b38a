import type { Role } from '../platform/http/caller.ts';

const RANK: Readonly<Record<Role, number>> = { user: 1, admin: 2, root: 3 };

/** Whether a role stands above another. */
export const outranks = (one: Role, other: Role): boolean => RANK[one] > RANK[other];

/**
 * The one rule of who may make or change whom: everybody only what stands below, and root everything. It is asked for the
 * role an account has and for the one it is to get.
 */
export const mayManage = (actor: Role, role: Role): boolean => actor === 'root' || outranks(actor, role);
