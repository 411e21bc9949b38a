import type { Insertable, Selectable } from 'kysely';
import { ENABLED } from '../../contract/account-fields.ts';
import type { OrganizationRole } from '../../contract/organization-roles.ts';
import type { Page } from '../../contract/responses.ts';
import type { FindAuthors, FoundMembership, Memberships } from '../accounts/memberships.ts';
import type { Recipients } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import { containsText, prepareQuery, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type OrganizationRow = Selectable<Tables['organizations']>;
/** An organization with the role of one of its members. */
export type OwnOrganization = OrganizationRow & { readonly role: OrganizationRole };
/** A locked organization with the status of its account. */
export type LockedOrganization = OrganizationRow & { readonly status: number | null };
export type InvitationRow = Selectable<Tables['organization_invitations']>;

const membershipOf = (db: Executor) =>
  db
    .selectFrom('organization_members')
    .innerJoin('organizations', 'organizations.id', 'organization_members.organization_id')
    .innerJoin('accounts', 'accounts.id', 'organizations.id')
    .select([
      'organizations.id as organizationId',
      'organizations.slug',
      'organizations.prompts_visible_to_admins as promptsVisible',
      'organization_members.role',
      'accounts.status',
    ]);

const membershipBySlug = prepareQuery<Tables, { slug: string; user: number }>()((db, p) =>
  membershipOf(db).where('organizations.slug', '=', p('slug')).where('organization_members.user_id', '=', p('user')),
);
const membershipById = prepareQuery<Tables, { organization: number; user: number }>()((db, p) =>
  membershipOf(db)
    .where('organization_members.organization_id', '=', p('organization'))
    .where('organization_members.user_id', '=', p('user')),
);

const ownOrganizations = (db: Executor, userId: number) =>
  db
    .selectFrom('organization_members')
    .innerJoin('organizations', 'organizations.id', 'organization_members.organization_id')
    .where('organization_members.user_id', '=', userId);

/** SQL of organizations, their members and invitations. */
export class OrganizationStore implements Memberships {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(slug: string, userId: number, db: Executor = this.#database.kysely): Promise<FoundMembership | undefined> {
    return membershipBySlug.first(db, { slug, user: userId });
  }

  findById(organizationId: number, userId: number): Promise<FoundMembership | undefined> {
    return membershipById.first(this.#database.kysely, { organization: organizationId, user: userId });
  }

  listOf(userId: number): Promise<readonly { readonly slug: string; readonly name: string }[]> {
    return this.membershipsOf(this.#database.kysely, userId);
  }

  async lock(trx: Trx, organizationId: number, userId: number): Promise<boolean> {
    const person = await trx
      .selectFrom('accounts')
      .select('status')
      .where('id', '=', userId)
      .where('removed_at', 'is', null)
      .forUpdate()
      .executeTakeFirst();
    if (person?.status !== ENABLED) return false;
    return (await this.lockRole(trx, organizationId, userId)) !== undefined;
  }

  async assertNotLastOwner(trx: Trx, userId: number): Promise<void> {
    for (const { id } of await this.membershipsOf(trx, userId)) {
      await this.lockOrganization(trx, id);
      // Read under the lock: the account may have become an owner while this transaction waited for it.
      const role = await this.lockRole(trx, id, userId);
      if (role === 'owner' && (await this.countOwners(trx, id)) < 2) throw new AppError('last_owner');
    }
  }

  /** The role of a member, locked until the commit. */
  async lockRole(trx: Trx, organizationId: number, userId: number): Promise<OrganizationRole | undefined> {
    const row = await trx
      .selectFrom('organization_members')
      .select('role')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .forUpdate()
      .executeTakeFirst();
    return row?.role;
  }

  /** Locks an organization, so that two owners cannot leave it at the same time. */
  async lockOrganization(trx: Trx, id: number): Promise<LockedOrganization | undefined> {
    return trx
      .selectFrom('organizations')
      .selectAll()
      .select((row) =>
        row.selectFrom('accounts').select('status').whereRef('accounts.id', '=', 'organizations.id').as('status'),
      )
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
  }

  /** Changes the status of the account. @returns whether it was `from` */
  async changeStatus(trx: Trx, id: number, from: number, to: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('accounts')
        .set({ status: to })
        .where('id', '=', id)
        .where('status', '=', from)
        .executeTakeFirst(),
    );
  }

  async listClosedBefore(time: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('organizations')
      .select('id')
      .where('closed_at', '<=', time)
      .execute();
    return rows.map(({ id }) => id);
  }

  findOwn(slug: string, userId: number, db: Executor = this.#database.kysely): Promise<OwnOrganization | undefined> {
    return ownOrganizations(db, userId)
      .selectAll('organizations')
      .select('organization_members.role')
      .where('organizations.slug', '=', slug)
      .executeTakeFirst();
  }

  async findId(db: Executor, slug: string): Promise<number | undefined> {
    return (await db.selectFrom('organizations').select('id').where('slug', '=', slug).executeTakeFirst())?.id;
  }

  /** In the order of their names. */
  async listOwn(userId: number, page: Page): Promise<{ rows: OwnOrganization[]; total: number }> {
    const own = ownOrganizations(this.#database.kysely, userId);
    const [rows, count] = await Promise.all([
      own
        .selectAll('organizations')
        .select('organization_members.role')
        .orderBy('organizations.name')
        .orderBy('organizations.id')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      own.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** Whether a slug is free decides the unique user name of the organization's account. */
  async insert(trx: Trx, row: OrganizationRow): Promise<void> {
    await trx.insertInto('organizations').values(row).execute();
  }

  async update(
    trx: Trx,
    id: number,
    columns: Partial<Pick<OrganizationRow, 'name' | 'prompts_visible_to_admins' | 'closed_at'>>,
  ): Promise<void> {
    if (Object.keys(columns).length > 0)
      await trx.updateTable('organizations').set(columns).where('id', '=', id).execute();
  }

  /** Deletes an organization with its members and invitations. */
  async remove(trx: Trx, id: number): Promise<void> {
    await trx.deleteFrom('organization_members').where('organization_id', '=', id).execute();
    await trx.deleteFrom('organization_invitations').where('organization_id', '=', id).execute();
    await trx.deleteFrom('organizations').where('id', '=', id).execute();
  }

  /** In the order in which they joined. */
  async listMembers(organizationId: number, page: Page) {
    const members = this.#database.kysely
      .selectFrom('organization_members')
      .where('organization_members.organization_id', '=', organizationId);
    const [rows, count] = await Promise.all([
      members
        .innerJoin('accounts', 'accounts.id', 'organization_members.user_id')
        .selectAll('organization_members')
        .select(['accounts.username', 'accounts.display_name'])
        .orderBy('organization_members.created_at')
        .orderBy('organization_members.user_id')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      members.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** Ids of the members with one of the roles. */
  async memberIds(db: Executor, organizationId: number, roles: readonly OrganizationRole[]): Promise<number[]> {
    const rows = await db
      .selectFrom('organization_members')
      .select('user_id')
      .where('organization_id', '=', organizationId)
      .where('role', 'in', roles)
      .orderBy('user_id')
      .execute();
    return rows.map((row) => row.user_id);
  }

  async countOwners(trx: Trx, organizationId: number): Promise<number> {
    return (await this.memberIds(trx, organizationId, ['owner'])).length;
  }

  /** Returns false if the account is a member already. */
  async addMember(trx: Trx, row: Insertable<Tables['organization_members']>): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('organization_members')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  async setRole(trx: Trx, organizationId: number, userId: number, role: OrganizationRole): Promise<void> {
    await trx
      .updateTable('organization_members')
      .set({ role })
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .execute();
  }

  /** Returns false if the account was no member. */
  async removeMember(trx: Trx, organizationId: number, userId: number): Promise<boolean> {
    return wasChanged(
      await trx
        .deleteFrom('organization_members')
        .where('organization_id', '=', organizationId)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  async insertInvitation(trx: Trx, row: Omit<InvitationRow, 'id'>): Promise<number> {
    const { id } = await trx
      .insertInto('organization_invitations')
      .values(row)
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  /** Open invitations, newest first. */
  async listInvitations(organizationId: number, page: Page, now: number) {
    const open = this.#database.kysely
      .selectFrom('organization_invitations')
      .where('organization_id', '=', organizationId)
      .where('expires_at', '>', now);
    const [rows, count] = await Promise.all([
      open
        .leftJoin('accounts', 'accounts.id', 'organization_invitations.invited_by')
        .selectAll('organization_invitations')
        .select('accounts.username as inviter')
        .orderBy('organization_invitations.id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      open.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** Deletes and returns an invitation: of concurrent callers with its token, exactly one receives it. */
  takeInvitation(trx: Trx, hash: string, now: number): Promise<InvitationRow | undefined> {
    return trx
      .deleteFrom('organization_invitations')
      .where('hash', '=', hash)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst();
  }

  async hasInvitation(id: number): Promise<boolean> {
    const query = this.#database.kysely.selectFrom('organization_invitations').select('id').where('id', '=', id);
    return (await query.executeTakeFirst()) !== undefined;
  }

  async removeInvitation(trx: Trx, organizationId: number, id: number): Promise<InvitationRow | undefined> {
    return trx
      .deleteFrom('organization_invitations')
      .where('id', '=', id)
      .where('organization_id', '=', organizationId)
      .returningAll()
      .executeTakeFirst();
  }

  /** Ends the invitations of a member who may no longer invite. */
  async removeInvitationsBy(trx: Trx, organizationId: number, userId: number): Promise<void> {
    await trx
      .deleteFrom('organization_invitations')
      .where('organization_id', '=', organizationId)
      .where('invited_by', '=', userId)
      .execute();
  }

  async deleteExpiredInvitations(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('organization_invitations').where('expires_at', '<=', now).execute();
  }

  /** Whom a notification to an account reaches: of an organization, its owners and admins. */
  async recipientsOf(db: Executor, userId: number): Promise<Recipients> {
    const organizations = db.selectFrom('organizations').select('name').where('id', '=', userId);
    const organization = await organizations.executeTakeFirst();
    if (organization === undefined) return { ids: [userId] };
    return { ids: await this.memberIds(db, userId, ['owner', 'admin']), organization: organization.name };
  }

  /** Organizations that an account belongs to, with its role in each. */
  membershipsOf(db: Executor, userId: number) {
    return ownOrganizations(db, userId)
      .select(['organizations.id', 'organizations.slug', 'organizations.name'])
      .select(['organization_members.role', 'organization_members.provider'])
      .orderBy('organizations.name')
      .execute();
  }

  /** User names of the owners of organizations. */
  async ownersOf(ids: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('organization_members')
      .innerJoin('accounts', 'accounts.id', 'organization_members.user_id')
      .select(['organization_members.organization_id as id', 'accounts.username'])
      .where('organization_members.organization_id', 'in', ids)
      .where('organization_members.role', '=', 'owner')
      .orderBy('organization_members.created_at')
      .execute();
    const byId = Map.groupBy(rows, ({ id }) => id);
    return new Map(Array.from(byId, ([id, own]) => [id, own.map(({ username }) => username ?? '')]));
  }

  readonly findAuthors: FindAuthors = async (rows) => {
    const ids = new Set(rows.flatMap(({ user_id, actor_id }) => [user_id, actor_id ?? user_id]));
    if (ids.size === 0) return () => ({ submitted_by: '', organization: '' });
    const found = await this.#database.kysely
      .selectFrom('accounts')
      .leftJoin('organizations', 'organizations.id', 'accounts.id')
      .select(['accounts.id', 'accounts.username', 'organizations.slug'])
      .where('accounts.id', 'in', [...ids])
      .execute();
    const byId = new Map(found.map((row) => [row.id, row]));
    return ({ user_id, actor_id }) => ({
      submitted_by: (actor_id === null ? undefined : byId.get(actor_id)?.username) ?? '',
      organization: byId.get(user_id)?.slug ?? '',
    });
  };

  /** All organizations, newest first. */
  async listAll({ q, ids }: { readonly q?: string; readonly ids?: readonly number[] }, page: Page) {
    const all = this.#database.kysely
      .selectFrom('organizations')
      .innerJoin('accounts', 'accounts.id', 'organizations.id')
      .$if(ids !== undefined, (query) => query.where('organizations.id', 'in', ids ?? []))
      .$if(q !== undefined, (query) =>
        query.where((row) =>
          row.or(['organizations.slug', 'organizations.name'].map((column) => containsText(column, q ?? ''))),
        ),
      );
    const [rows, count] = await Promise.all([
      all
        .selectAll('organizations')
        .select(['accounts.status', 'accounts.concurrent_tasks', 'accounts.queued_tasks'])
        .select((row) =>
          row
            .selectFrom('organization_members')
            .select((each) => each.fn.countAll<number>().as('members'))
            .whereRef('organization_members.organization_id', '=', 'organizations.id')
            .as('members'),
        )
        .orderBy('organizations.id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      all.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }
}
