/** Roles of members, in ascending rank. */
export const ORGANIZATION_ROLES = ['member', 'admin', 'owner'] as const;
export type OrganizationRole = (typeof ORGANIZATION_ROLES)[number];

/** Header that selects the organization a request acts for. */
export const ORGANIZATION_HEADER = 'X-Organization';

/** Whether a role includes the rights of another one. */
export const includesRole = (role: OrganizationRole, needed: OrganizationRole): boolean =>
  ORGANIZATION_ROLES.indexOf(role) >= ORGANIZATION_ROLES.indexOf(needed);

/** The only rule for who may grant, change or remove a membership: owners any, admins those of plain members. */
export const canManageMember = (actor: OrganizationRole, role: OrganizationRole): boolean =>
  actor === 'owner' || (actor === 'admin' && role === 'member');

/** Days after which a closed organization is deleted. */
export const ORGANIZATION_GRACE_DAYS = 30;
/** What an account can hand over to an organization, apart from its balance. */
export const TRANSFERRED_THINGS = ['keys', 'videos', 'files', 'webhooks'] as const;
export type TransferredThing = (typeof TRANSFERRED_THINGS)[number];
