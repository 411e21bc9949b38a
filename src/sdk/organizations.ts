import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/organizations.ts';
import { type CallOptions, fetchAllPages, type Transport } from './transport.ts';

/** An organization with the caller's role in it. */
export type Organization = EndpointPart<typeof endpoints.getOrganization, 'response'>['data'];
/** Role of a member, in ascending rank: member, admin, owner. */
export type OrganizationRole = Organization['role'];
/** A member of an organization. */
export type OrganizationMember = EndpointPart<typeof endpoints.listMembers, 'response'>['data'][number];
/** An open invitation. */
export type OrganizationInvitation = EndpointPart<typeof endpoints.listInvitations, 'response'>['data'][number];
/** A new invitation with its link, which is shown once. */
export type CreatedInvitation = EndpointPart<typeof endpoints.createInvitation, 'response'>['data'];

/** What an account handed over to an organization, and how far its videos and files have moved. */
export type OrganizationTransfer = EndpointPart<typeof endpoints.createTransfer, 'response'>['data'];
/** Things that an account can hand over, apart from its balance. */
export type TransferredThing = OrganizationTransfer['include'][number];

/** What to hand over to an organization. */
export interface NewTransfer {
  /** Things of the account, each kind as a whole. */
  readonly include: readonly TransferredThing[];
  /** Part of the wallet's balance, in quota; default 0. */
  readonly quota?: number;
}

/** A hard limit on what a member spends. */
export interface MemberSpendLimit {
  /** Quota per period. */
  readonly amount: number;
  /** When the limit renews, in the time zone of the site. */
  readonly period: 'day' | 'week' | 'month';
}

/** Changes of an organization; absent fields stay unchanged. */
export interface OrganizationChange {
  /** Name shown to its members. */
  readonly name?: string;
  /** Whether owners and admins see the prompts of other members; only owners change it. */
  readonly promptsVisibleToAdmins?: boolean;
}

/** Changes of a member; absent fields stay unchanged. */
export interface MemberChange {
  /** New role. */
  readonly role?: OrganizationRole;
  /** New limit; null removes it. */
  readonly spendLimit?: MemberSpendLimit | null;
}

/** Whom to invite. */
export interface NewInvitation {
  /** Role of the new member. */
  readonly role: OrganizationRole;
  /** Address the link is e-mailed to, if the service sends mail. */
  readonly email?: string;
  /** Limit of the new member. */
  readonly spendLimit?: MemberSpendLimit;
}

/**
 * Organizations of the account, their members and invitations. Changes need a session or a user access token. To act for
 * an organization, create the client with its slug as `organization`.
 */
export class Organizations {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Organizations the account belongs to. @throws ReelgateError `unauthorized` */
  list(options: CallOptions = {}): Promise<Organization[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listOrganizations, { query }, options));
  }

  /**
   * Creates an organization, of which the account becomes the owner.
   *
   * @throws ReelgateError `refused` (already_exists)
   */
  async create(slug: string, name: string, options: CallOptions = {}): Promise<Organization> {
    return (await this.#transport.call(endpoints.createOrganization, { body: { slug, name } }, options)).data;
  }

  /** One organization. @throws ReelgateError `organization_not_found`, also for an organization of others */
  async get(slug: string, options: CallOptions = {}): Promise<Organization> {
    return (await this.#transport.call(endpoints.getOrganization, { params: { slug } }, options)).data;
  }

  /** Changes an organization. @throws ReelgateError `organization_not_found`, `forbidden` */
  async update(slug: string, change: OrganizationChange, options: CallOptions = {}): Promise<Organization> {
    const body = { name: change.name, prompts_visible_to_admins: change.promptsVisibleToAdmins };
    return (await this.#transport.call(endpoints.updateOrganization, { params: { slug }, body }, options)).data;
  }

  /**
   * Closes an organization: its keys and sign-ins are refused, and it is deleted after 30 days unless it is restored.
   *
   * @throws ReelgateError `organization_not_found`, `forbidden`
   */
  async close(slug: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.deleteOrganization, { params: { slug } }, options);
  }

  /** Restores a closed organization. @throws ReelgateError `organization_not_found`, `forbidden` */
  async restore(slug: string, options: CallOptions = {}): Promise<Organization> {
    return (await this.#transport.call(endpoints.restoreOrganization, { params: { slug }, body: {} }, options)).data;
  }

  /**
   * Hands over things and balance of the account to an organization. Videos and files may still be moving afterwards.
   *
   * @throws ReelgateError `organization_not_found`, `forbidden`, `refused` (quota_not_enough, transfer_jobs_open,
   *   transfer_running)
   */
  async transfer(slug: string, what: NewTransfer, options: CallOptions = {}): Promise<OrganizationTransfer> {
    const body = { include: [...what.include], quota: what.quota };
    return (await this.#transport.call(endpoints.createTransfer, { params: { slug }, body }, options)).data;
  }

  /** Transfers to an organization, newest first. @throws ReelgateError `organization_not_found`, `forbidden` */
  transfers(slug: string, options: CallOptions = {}): Promise<OrganizationTransfer[]> {
    return fetchAllPages((query) =>
      this.#transport.call(endpoints.listTransfers, { params: { slug }, query }, options),
    );
  }

  /** Members of an organization. @throws ReelgateError `organization_not_found` */
  members(slug: string, options: CallOptions = {}): Promise<OrganizationMember[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listMembers, { params: { slug }, query }, options));
  }

  /**
   * Changes a member.
   *
   * @throws ReelgateError `organization_not_found`, `forbidden`, `refused` (not_exist, last_owner)
   */
  async updateMember(slug: string, userId: number, change: MemberChange, options: CallOptions = {}): Promise<void> {
    const params = { slug, user_id: String(userId) };
    const body = { role: change.role, spend_limit: change.spendLimit };
    await this.#transport.call(endpoints.updateMember, { params, body }, options);
  }

  /**
   * Removes a member, whose keys and sign-ins in the organization end at once; the own id leaves it.
   *
   * @throws ReelgateError `organization_not_found`, `forbidden`, `refused` (not_exist, last_owner)
   */
  async removeMember(slug: string, userId: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.removeMember, { params: { slug, user_id: String(userId) } }, options);
  }

  /** Open invitations. @throws ReelgateError `organization_not_found`, `forbidden` */
  invitations(slug: string, options: CallOptions = {}): Promise<OrganizationInvitation[]> {
    return fetchAllPages((query) =>
      this.#transport.call(endpoints.listInvitations, { params: { slug }, query }, options),
    );
  }

  /**
   * Invites someone by a link that works once, within 7 days.
   *
   * @throws ReelgateError `organization_not_found`, `forbidden`
   */
  async invite(slug: string, invitation: NewInvitation, options: CallOptions = {}): Promise<CreatedInvitation> {
    const { role, email, spendLimit } = invitation;
    const body = { role, email, spend_limit: spendLimit };
    return (await this.#transport.call(endpoints.createInvitation, { params: { slug }, body }, options)).data;
  }

  /** Withdraws an invitation. @throws ReelgateError `organization_not_found`, `forbidden`, `refused` (not_exist) */
  async withdraw(slug: string, id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.deleteInvitation, { params: { slug, id: String(id) } }, options);
  }

  /**
   * Joins an organization with the token of an invitation.
   *
   * @throws ReelgateError `refused` (not_exist, already_exists)
   */
  async accept(token: string, options: CallOptions = {}): Promise<Organization> {
    return (await this.#transport.call(endpoints.acceptInvitation, { body: { token } }, options)).data;
  }
}
