import type { OrganizationRole } from '../../contract/organization-roles.ts';
import type { Executor, Trx } from '../tables.ts';

/** A membership of an account. */
export interface FoundMembership {
  readonly organizationId: number;
  readonly slug: string;
  readonly role: OrganizationRole;
  /** Whether owners and admins see the prompts of other members. */
  readonly promptsVisible: 0 | 1;
  /** Status of the organization's account. */
  readonly status: number;
}

/** Access to memberships, implemented by organizations. */
export interface Memberships {
  find(slug: string, userId: number, db?: Executor): Promise<FoundMembership | undefined>;
  findById(organizationId: number, userId: number): Promise<FoundMembership | undefined>;
  /**
   * Locks the account of a member, then the membership, until the commit, so that a concurrent ban or removal either
   * precedes this transaction or ends what it creates.
   *
   * @returns false if there is no such membership, or the account is disabled
   */
  lock(trx: Trx, organizationId: number, userId: number): Promise<boolean>;
  /** Organizations an account belongs to, by name. */
  listOf(userId: number): Promise<readonly { readonly slug: string; readonly name: string }[]>;
  /** @throws last_owner if an organization would be left without an owner */
  assertNotLastOwner(trx: Trx, userId: number): Promise<void>;
}

/** A row that names the account or organization it belongs to, and the member who acted for an organization. */
interface AuthoredRow {
  readonly user_id: number;
  readonly actor_id: number | null;
}

/** Who acted, and for which organization; both are empty for an account of its own. */
export interface Authorship {
  /** User name. */
  readonly submitted_by: string;
  /** Slug. */
  readonly organization: string;
}

/** Finds the authors of rows with one query. */
export type FindAuthors = (rows: readonly AuthoredRow[]) => Promise<(row: AuthoredRow) => Authorship>;
