import { sql } from 'kysely';
import { CLOSED, ENABLED, outranks } from '../../contract/account-fields.ts';
import type { SpendLimit } from '../../contract/amounts.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import {
  canManageMember,
  includesRole,
  ORGANIZATION_GRACE_DAYS,
  type OrganizationRole,
} from '../../contract/organization-roles.ts';
import type { Page } from '../../contract/responses.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { AccountStore } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { TokenStore } from '../accounts/tokens.ts';
import type { AuthorizationFilter } from '../device-auth/authorization-store.ts';
import type { Mailer, MailText, RenderedMail } from '../mail/mail-queue.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor, RequestOrigin } from '../platform/http/route-registry.ts';
import { assertWithinLimit, type RateLimiter } from '../platform/limits/rate-limits.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { SealedColumn, Vault } from '../platform/vault.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { LockedOrganization, OrganizationRow, OrganizationStore, OwnOrganization } from './organization-store.ts';

const INVITATION_MS = 7 * DAY_MS;
const INVITATION_MAIL = 'organization-invitation';
/** Page of the console that accepts an invitation; the token is in the fragment, which browsers do not send. */
const ACCEPT_PAGE = '/account/invitation';
/** Organizations one account may own, so that no account reserves all short names. */
const MAX_OWNED = 20;
const CLAIMED = 'An identity provider adds members to an organization of this name; an administrator has to create it.';

interface GrantedMemberships {
  /** Id of the identity provider. */
  readonly provider: string;
  readonly granted: readonly { readonly slug: string; readonly role: OrganizationRole }[];
}

interface Invitation {
  readonly role: OrganizationRole;
  readonly email?: string;
  readonly spendLimit: SpendLimit | null;
}

interface OrganizationServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: OrganizationStore;
  readonly accounts: Pick<AccountStore, 'find' | 'insert' | 'lock' | 'remove'>;
  readonly tokens: Pick<TokenStore, 'revokeOfActor' | 'revokeAll'>;
  /** Ends device sign-ins and grants. */
  readonly revokeSignIns: (trx: Trx, filter: AuthorizationFilter) => Promise<unknown>;
  readonly ledger: Pick<Ledger, 'openWallet' | 'setSpendLimit' | 'spendLimits'>;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
  readonly mailer: Mailer;
  readonly vault: Vault;
  readonly clock: Clock;
  /** Limits the invitations of a person, since they may be e-mailed to anyone. */
  readonly invitationLimit: RateLimiter;
  /** Prefix of every link. */
  readonly baseUrl: string;
  /** Whether claims of an identity provider grant memberships by this slug. */
  readonly isClaimed: (slug: string) => boolean;
}

/** Organizations, their members and invitations. */
export class OrganizationService {
  readonly #dependencies: OrganizationServiceDependencies;

  constructor(dependencies: OrganizationServiceDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(INVITATION_MAIL, (mail) => this.#renderInvitation(mail));
  }

  list(userId: number, page: Page): Promise<{ rows: OwnOrganization[]; total: number }> {
    return this.#dependencies.store.listOwn(userId, page);
  }

  /** @throws not_exist, also for an organization of others */
  async get(slug: string, userId: number): Promise<OwnOrganization> {
    const found = await this.#dependencies.store.findOwn(slug, userId);
    if (found === undefined) throw new AppError('organization_not_found');
    return found;
  }

  /** Creates an organization with the actor as its owner. @throws already_exists, invalid_request, organizations_full */
  create(actor: Actor, { slug, name }: { readonly slug: string; readonly name: string }): Promise<OwnOrganization> {
    const { database, store, accounts, ledger, clock, isClaimed } = this.#dependencies;
    return database.transaction(async (trx) => {
      const person = await this.lockPerson(trx, actor.actorId);
      // Else anyone could take the name first, and receive the members that the claims of others stand for.
      if (isClaimed(slug) && outranks('admin', person.role)) throw invalidRequest(CLAIMED, 'slug');
      const own = await store.membershipsOf(trx, actor.actorId);
      if (own.filter(({ role }) => role === 'owner').length >= MAX_OWNED) throw new AppError('organizations_full');
      const now = clock.now();
      const noEmail = { email: null, login_email: null, email_confirmed_at: null };
      const account = { username: toUsername(slug), ...noEmail, display_name: name, role: 'user' } as const;
      const id = await accounts.insert(trx, { ...account, kind: 'organization', created_at: now });
      if (id === undefined) throw new AppError('already_exists', { params: { what: 'organization' } });
      await ledger.openWallet(trx, id, 0);
      const row = { id, slug, name, prompts_visible_to_admins: 0, created_at: now, closed_at: null } as const;
      await store.insert(trx, row);
      await store.addMember(trx, {
        organization_id: id,
        user_id: actor.actorId,
        role: 'owner',
        provider: null,
        created_at: now,
      });
      await this.#record(trx, actor, 'organization.create', id, undefined, { slug, name });
      return { ...row, role: 'owner' };
    });
  }

  /** @throws not_exist, forbidden */
  update(
    slug: string,
    actor: Actor,
    { name, promptsVisible }: { readonly name?: string; readonly promptsVisible?: boolean },
  ): Promise<OwnOrganization> {
    const { database, store, notifier, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, promptsVisible === undefined ? 'admin' : 'owner');
      const visible = promptsVisible === undefined ? found.prompts_visible_to_admins : promptsVisible ? 1 : 0;
      const after = { name: name ?? found.name, prompts_visible_to_admins: visible } as const;
      await store.update(trx, found.id, after);
      await this.#record(trx, actor, 'organization.update', found.id, pickSettings(found), after);
      if (visible !== found.prompts_visible_to_admins)
        for (const userId of await store.memberIds(trx, found.id, ['member', 'admin', 'owner']))
          await notifier.notify(trx, promptsNotice(userId, found, visible === 1, clock.now()));
      return { ...found, ...after };
    });
  }

  /** As {@link changeClosed}, by an owner. @throws not_exist, forbidden, account_disabled */
  async setClosed(slug: string, actor: Actor, isClosed: boolean): Promise<OwnOrganization> {
    return this.#dependencies.database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, 'owner', 'or closed');
      return { ...found, ...(await this.changeClosed(trx, found, actor, isClosed)) };
    });
  }

  /**
   * Closes an organization, or restores it. Its keys and sign-ins are refused while it is closed, and it is deleted after
   * the grace period. No effect if it is in that state already.
   * @throws account_disabled for an organization that an administrator disabled
   */
  async changeClosed(
    trx: Trx,
    organization: LockedOrganization,
    actor: Actor,
    isClosed: boolean,
  ): Promise<Pick<OrganizationRow, 'closed_at'>> {
    const { store, notifier, clock } = this.#dependencies;
    const { id, closed_at: closedAt } = organization;
    if ((closedAt !== null) === isClosed) return { closed_at: closedAt };
    const now = clock.now();
    const [from, to] = isClosed ? [ENABLED, CLOSED] : [CLOSED, ENABLED];
    if (!(await store.changeStatus(trx, id, from, to))) throw new AppError('account_disabled');
    await store.update(trx, id, { closed_at: isClosed ? now : null });
    await this.#record(trx, actor, isClosed ? 'organization.close' : 'organization.restore', id);
    for (const userId of await store.memberIds(trx, id, ['member', 'admin', 'owner']))
      if (userId !== actor.actorId) await notifier.notify(trx, closedNotice(userId, organization, isClosed, now));
    return { closed_at: isClosed ? now : null };
  }

  /** Deletes organizations whose grace period is over; ledger and videos stay, as for an account. */
  async #deleteClosed(): Promise<void> {
    const { database, store, accounts, tokens, revokeSignIns, notifier, clock } = this.#dependencies;
    const before = clock.now() - ORGANIZATION_GRACE_DAYS * DAY_MS;
    await workOnEach(await store.listClosedBefore(before), (id) =>
      database.transaction(async (trx) => {
        const found = await store.lockOrganization(trx, id);
        // Restored meanwhile, or deleted by another process.
        if (found?.closed_at == null || found.closed_at > before) return;
        const members = await store.memberIds(trx, id, ['member', 'admin', 'owner']);
        await revokeSignIns(trx, { organization_id: id });
        await tokens.revokeAll(trx, id, clock.now());
        await store.remove(trx, id);
        await accounts.remove(trx, id, clock.now());
        await this.#record(trx, {}, 'organization.delete', id, { slug: found.slug, name: found.name });
        for (const userId of members) await notifier.notify(trx, deletedNotice(userId, found));
      }),
    );
  }

  /** Members with their limits. @throws not_exist */
  async listMembers(slug: string, userId: number, page: Page) {
    const { id, role } = await this.get(slug, userId);
    return this.listAllMembers(id, page, role === 'member' ? userId : undefined);
  }

  /** @param ownId the member who sees only the own limit */
  async listAllMembers(id: number, page: Page, ownId?: number) {
    const { store, ledger } = this.#dependencies;
    const { rows, total } = await store.listMembers(id, page);
    const visible = rows.filter((row) => ownId === undefined || row.user_id === ownId);
    const limits = await ledger.spendLimits(
      visible.map((row) => ({ kind: 'member', id: row.user_id, organizationId: id }) as const),
    );
    return { rows: rows.map((row) => ({ ...row, spendLimit: limits.get(`member:${id}-${row.user_id}`) })), total };
  }

  /** @throws not_exist, forbidden, last_owner */
  async updateMember(
    slug: string,
    userId: number,
    actor: Actor,
    { role, spendLimit }: { readonly role?: OrganizationRole; readonly spendLimit?: SpendLimit | null },
  ): Promise<void> {
    const { database, store, ledger, notifier, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, 'admin');
      const current = await store.lockRole(trx, found.id, userId);
      if (current === undefined) throw notExistError('member');
      if (!canManageMember(found.role, current) || (role !== undefined && !canManageMember(found.role, role)))
        throw new AppError('forbidden');
      if (role !== undefined && role !== current) {
        if (current === 'owner') await this.#assertOtherOwner(trx, found.id);
        await store.setRole(trx, found.id, userId, role);
        if (role === 'member') await store.removeInvitationsBy(trx, found.id, userId);
        await notifier.notify(trx, roleNotice(userId, found, role, clock.now()));
      }
      if (spendLimit !== undefined)
        await ledger.setSpendLimit(
          trx,
          { kind: 'member', id: userId, organizationId: found.id },
          spendLimit ?? undefined,
        );
      const after = { user: userId, role: role ?? current, spend_limit: spendLimit };
      await this.#record(trx, actor, 'organization.member-update', found.id, { user: userId, role: current }, after);
    });
  }

  /** Removes a member, or lets the actor leave. @throws not_exist, forbidden, last_owner */
  async removeMember(slug: string, userId: number, actor: Actor): Promise<void> {
    const { database, store, notifier, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, 'member', 'or closed');
      const role = await store.lockRole(trx, found.id, userId);
      const isSelf = userId === actor.actorId;
      if (!isSelf && !includesRole(found.role, 'admin')) throw new AppError('forbidden');
      if (role === undefined) throw notExistError('member');
      if (!isSelf && !canManageMember(found.role, role)) throw new AppError('forbidden');
      if (role === 'owner') await this.#assertOtherOwner(trx, found.id);
      await this.#endMembership(trx, found.id, userId);
      await this.#record(trx, actor, 'organization.member-remove', found.id, { user: userId, role });
      if (!isSelf) await notifier.notify(trx, removedNotice(userId, found, clock.now()));
    });
  }

  /** @throws not_exist, forbidden */
  async listInvitations(slug: string, userId: number, page: Page) {
    const { store, clock } = this.#dependencies;
    const found = await this.get(slug, userId);
    if (!includesRole(found.role, 'admin')) throw new AppError('forbidden');
    return store.listInvitations(found.id, page, clock.now());
  }

  /** The token is returned once and stored as a hash. @throws not_exist, forbidden */
  async invite(slug: string, actor: Actor, { role, email, spendLimit }: Invitation, locale: Locale) {
    const { database, store, mailer, clock, vault, invitationLimit } = this.#dependencies;
    assertWithinLimit(await invitationLimit.consume(String(actor.actorId)));
    return database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, 'admin');
      if (!canManageMember(found.role, role)) throw new AppError('forbidden');
      const token = randomToken(CREDENTIAL_PREFIX.invitation, 43);
      const expiresAt = clock.now() + INVITATION_MS;
      const id = await store.insertInvitation(trx, {
        organization_id: found.id,
        hash: hashToken(token),
        role,
        email: email ?? null,
        spend_amount: spendLimit?.amount ?? null,
        spend_period: spendLimit?.period ?? null,
        invited_by: actor.actorId,
        created_at: clock.now(),
        expires_at: expiresAt,
      });
      if (email !== undefined)
        await mailer.enqueue(trx, {
          kind: INVITATION_MAIL,
          recipient: email,
          locale,
          params: {
            organization: found.name,
            invitation: String(id),
            // Sealed, because readers of the database must not be able to accept.
            token: vault.seal(token, invitationMailCell(id)),
          },
          expiresAt,
        });
      const after = { invitation: id, role, email, spend_limit: spendLimit };
      await this.#record(trx, actor, 'organization.invite', found.id, undefined, after);
      return { id, token, url: this.#acceptUrl(token), expiresAt };
    });
  }

  #acceptUrl(token: string): string {
    return `${this.#dependencies.baseUrl}${ACCEPT_PAGE}#${token}`;
  }

  /** @returns undefined if the invitation was withdrawn or accepted before its mail could be sent */
  async #renderInvitation({ locale, params }: RenderedMail): Promise<MailText | undefined> {
    const { store, vault } = this.#dependencies;
    const { organization = '', invitation = '', token = '', url } = params;
    // Earlier releases queued the link itself.
    if (url !== undefined) return toInvitationMail(locale, organization, url);
    const id = Number(invitation);
    if (!(await store.hasInvitation(id))) return undefined;
    return toInvitationMail(locale, organization, this.#acceptUrl(vault.open(token, invitationMailCell(id))));
  }

  /** @throws not_exist, forbidden */
  async withdraw(slug: string, id: number, actor: Actor): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      const found = await this.lockOwn(trx, slug, actor.actorId, 'admin');
      const removed = await store.removeInvitation(trx, found.id, id);
      if (removed === undefined) throw notExistError('invitation');
      if (!canManageMember(found.role, removed.role)) throw new AppError('forbidden');
      const before = { invitation: id, role: removed.role, email: removed.email };
      await this.#record(trx, actor, 'organization.withdraw', found.id, before);
    });
  }

  /** @throws not_exist for an unknown, used or expired token; already_exists for a member, who keeps it usable */
  accept(token: string, actor: Actor): Promise<OwnOrganization> {
    const { database, store, accounts, ledger, notifier, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      await this.lockPerson(trx, actor.actorId);
      const invitation = await store.takeInvitation(trx, hashToken(token), clock.now());
      const found = invitation && (await store.lockOrganization(trx, invitation.organization_id));
      if (invitation === undefined || found === undefined) throw notExistError('invitation');
      if (found.closed_at !== null) throw new AppError('organization_closed');
      // Someone removed, demoted or disabled since can no longer invite.
      const inviter = await store.lockRole(trx, found.id, invitation.invited_by);
      const isEnabled = (await accounts.find(invitation.invited_by, trx))?.status === ENABLED;
      if (inviter === undefined || !isEnabled || !canManageMember(inviter, invitation.role))
        throw notExistError('invitation');
      const { role, spend_amount: amount, spend_period: period } = invitation;
      const member = {
        organization_id: found.id,
        user_id: actor.actorId,
        role,
        provider: null,
        created_at: clock.now(),
      };
      if (!(await store.addMember(trx, member))) throw new AppError('already_exists', { params: { what: 'member' } });
      const limit = amount === null || period === null ? undefined : { amount, period };
      await ledger.setSpendLimit(trx, { kind: 'member', id: actor.actorId, organizationId: found.id }, limit);
      await this.#record(trx, actor, 'organization.join', found.id, undefined, { user: actor.actorId, role });
      await notifier.notify(trx, joinedNotice(invitation.invited_by, found, actor.actorId, clock.now()));
      return { ...found, role };
    });
  }

  /**
   * Gives a person the memberships that the claims of an identity provider grant, and ends those that the same provider
   * granted before; invitations and the last owner are not touched. In the transaction of a sign-in.
   */
  async mapMemberships(
    trx: Trx,
    userId: number,
    { provider, granted }: GrantedMemberships,
    origin: RequestOrigin,
  ): Promise<void> {
    const { store, clock } = this.#dependencies;
    const roles = new Map<number, OrganizationRole>();
    for (const { slug, role } of granted) {
      const id = await store.findId(trx, slug);
      const before = id === undefined ? undefined : roles.get(id);
      if (id !== undefined && (before === undefined || includesRole(role, before))) roles.set(id, role);
    }
    const record = (change: MembershipChange, id: number, role: OrganizationRole): Promise<void> =>
      this.#dependencies.auditLog.record(trx, {
        ...origin,
        ...MAPPED_ACTIONS[change],
        ownerId: id,
        target: `organization:${id}`,
        after: { user: userId, role, provider },
      });
    for (const [id, role] of roles) {
      if ((await store.lockOrganization(trx, id)) === undefined) continue;
      const member = { organization_id: id, user_id: userId, role, provider, created_at: clock.now() };
      if (await store.addMember(trx, member)) await record('added', id, role);
    }
    for (const { id, role: before, provider: by } of await store.membershipsOf(trx, userId)) {
      const wanted = roles.get(id);
      if (by !== provider || wanted === before) continue;
      await store.lockOrganization(trx, id);
      // Read again: the person may have become the last owner while this transaction waited for the lock.
      const role = await store.lockRole(trx, id, userId);
      if (role === undefined || wanted === role) continue;
      if (role === 'owner' && (await store.countOwners(trx, id)) < 2) continue;
      if (wanted === undefined) {
        await this.#endMembership(trx, id, userId);
        await record('removed', id, role);
      } else {
        await store.setRole(trx, id, userId, wanted);
        await record('changed', id, wanted);
      }
    }
  }

  async deleteExpired(): Promise<void> {
    await this.#dependencies.store.deleteExpiredInvitations(this.#dependencies.clock.now());
    await this.#deleteClosed();
  }

  async #endMembership(trx: Trx, organizationId: number, userId: number): Promise<void> {
    const { store, tokens, revokeSignIns, ledger, clock } = this.#dependencies;
    // First: a request that creates a key or sign-in holds a lock on this row, and what it created is revoked below.
    await store.removeMember(trx, organizationId, userId);
    await store.removeInvitationsBy(trx, organizationId, userId);
    await revokeSignIns(trx, { user_id: userId, organization_id: organizationId });
    await tokens.revokeOfActor(trx, userId, clock.now(), organizationId);
    await ledger.setSpendLimit(trx, { kind: 'member', id: userId, organizationId }, undefined);
  }

  /**
   * The organization with the actor's role, both locked until the commit.
   *
   * @throws not_exist, forbidden, organization_closed
   */
  async lockOwn(
    trx: Trx,
    slug: string,
    actorId: number,
    needed: OrganizationRole,
    state: 'open' | 'or closed' = 'open',
  ): Promise<OwnOrganization & LockedOrganization> {
    const { store } = this.#dependencies;
    const found = await store.findOwn(slug, actorId, trx);
    const locked = found && (await store.lockOrganization(trx, found.id));
    const role = locked && (await store.lockRole(trx, locked.id, actorId));
    if (locked === undefined || role === undefined) throw new AppError('organization_not_found');
    if (!includesRole(role, needed)) throw new AppError('forbidden');
    if (state === 'open' && locked.closed_at !== null) throw new AppError('organization_closed');
    return { ...locked, role };
  }

  /** @throws unauthorized for an account that was disabled or deleted meanwhile */
  async lockPerson(trx: Trx, userId: number) {
    const person = await this.#dependencies.accounts.lock(trx, userId);
    if (person?.status !== ENABLED) throw new AppError('unauthorized');
    return person;
  }

  async #assertOtherOwner(trx: Trx, organizationId: number): Promise<void> {
    if ((await this.#dependencies.store.countOwners(trx, organizationId)) < 2) throw new AppError('last_owner');
  }

  #record(
    trx: Trx,
    /** Empty: the service itself. */
    actor: Actor | Record<never, never>,
    action: AuditAction,
    organizationId: number,
    before?: object,
    after?: object,
  ): Promise<void> {
    return this.#dependencies.auditLog.record(trx, {
      ...actor,
      ownerId: organizationId,
      action,
      target: `organization:${organizationId}`,
      before,
      after,
    });
  }
}

const MAPPED_ACTIONS = {
  added: { action: 'organization.join' },
  removed: { action: 'organization.member-remove' },
  changed: { action: 'organization.member-update' },
} as const;
type MembershipChange = keyof typeof MAPPED_ACTIONS;

/** The user name of an organization's account: unique like a slug, and none that a person can have. */
const toUsername = (slug: string): string => `org:${slug}`;

const pickSettings = ({ name, prompts_visible_to_admins }: OwnOrganization) => ({ name, prompts_visible_to_admins });

type Named = Pick<OwnOrganization, 'id' | 'slug' | 'name'>;

const ORGANIZATION_PAGE = '/account/organizations';

const notice = (userId: number, { id }: Named, key: string) =>
  ({
    userId,
    topic: 'system',
    type: 'system',
    targetUrl: ORGANIZATION_PAGE,
    relatedId: id,
    deduplicationKey: `organization:${id}:${key}`,
  }) as const;

const promptsNotice = (userId: number, organization: Named, isVisible: boolean, now: number) => ({
  ...notice(userId, organization, `prompts:${now}`),
  title: isVisible
    ? { en: `Admins of ${organization.name} now see prompts`, 'zh-CN': `${organization.name} 的管理员现可查看提示词` }
    : {
        en: `Admins of ${organization.name} no longer see prompts`,
        'zh-CN': `${organization.name} 的管理员不再能查看提示词`,
      },
  content: isVisible
    ? {
        en: 'Owners and admins of this organization see the prompts of all members, past ones included.',
        'zh-CN': '该组织的所有者和管理员可查看全体成员的提示词，包括以往的提示词。',
      }
    : { en: 'Each member again sees only their own prompts.', 'zh-CN': '每位成员现在只能查看自己的提示词。' },
});

const ROLE_NAMES = {
  owner: { en: 'owner', 'zh-CN': '所有者' },
  admin: { en: 'admin', 'zh-CN': '管理员' },
  member: { en: 'member', 'zh-CN': '成员' },
} as const;

const roleNotice = (userId: number, organization: Named, role: OrganizationRole, now: number) => ({
  ...notice(userId, organization, `role:${now}`),
  title: { en: `Your role in ${organization.name} changed`, 'zh-CN': `您在 ${organization.name} 中的角色已变更` },
  content: {
    en: `You are now ${ROLE_NAMES[role].en}.`,
    'zh-CN': `您现在是${ROLE_NAMES[role]['zh-CN']}。`,
  },
});

const removedNotice = (userId: number, organization: Named, now: number) => ({
  ...notice(userId, organization, `removed:${now}`),
  title: { en: `You were removed from ${organization.name}`, 'zh-CN': `您已被移出 ${organization.name}` },
  content: {
    en: 'The keys and sign-ins you made in this organization no longer work.',
    'zh-CN': '您在该组织中创建的密钥和登录已失效。',
  },
});

const closedNotice = (userId: number, organization: Named, isClosed: boolean, now: number) => ({
  ...notice(userId, organization, `closed:${now}`),
  title: isClosed
    ? { en: `${organization.name} was closed`, 'zh-CN': `${organization.name} 已关闭` }
    : { en: `${organization.name} was restored`, 'zh-CN': `${organization.name} 已恢复` },
  content: isClosed
    ? {
        en: `Its keys and sign-ins are refused. An owner can restore it for ${ORGANIZATION_GRACE_DAYS} days; then it is deleted.`,
        'zh-CN': `其密钥和登录均会被拒绝。所有者可在 ${ORGANIZATION_GRACE_DAYS} 天内恢复，逾期将被删除。`,
      }
    : { en: 'Its keys and sign-ins work again.', 'zh-CN': '其密钥和登录已恢复可用。' },
});

const deletedNotice = (userId: number, organization: Named) => ({
  ...notice(userId, organization, 'deleted'),
  title: { en: `${organization.name} was deleted`, 'zh-CN': `${organization.name} 已被删除` },
  content: {
    en: `It was closed ${ORGANIZATION_GRACE_DAYS} days ago and not restored.`,
    'zh-CN': `该组织已关闭 ${ORGANIZATION_GRACE_DAYS} 天且未恢复。`,
  },
});

const joinedNotice = (userId: number, organization: Named, memberId: number, now: number) => ({
  ...notice(userId, organization, `joined:${memberId}:${now}`),
  title: {
    en: `Your invitation to ${organization.name} was accepted`,
    'zh-CN': `您对 ${organization.name} 的邀请已被接受`,
  },
  content: { en: 'The new member is in the list of members.', 'zh-CN': '新成员已出现在成员列表中。' },
});

/** The cell that the token of a queued invitation mail is sealed for. */
const invitationMailCell = (id: number) => ({ table: 'outgoing_mails', row: `invitation ${id}`, column: 'token' });

/** The tokens of queued invitation mails, for a change of the master key. */
export const sealedInvitationMails = (kysely: Executor): SealedColumn => ({
  async readAfter(after) {
    if (after > 0) return [];
    const mails = await kysely
      .selectFrom('outgoing_mails')
      .select('params')
      .where('kind', '=', INVITATION_MAIL)
      .execute();
    return mails.flatMap(({ params }) => {
      const { invitation, token: sealed } = JSON.parse(params) as RenderedMail['params'];
      // Earlier releases queued the link itself.
      if (sealed === undefined) return [];
      const id = Number(invitation);
      return { id, context: invitationMailCell(id), sealed };
    });
  },
  replace: ({ sealed: old }, sealed) =>
    kysely
      .updateTable('outgoing_mails')
      .set({ params: sql<string>`replace(params, ${old}, ${sealed})` })
      .where('kind', '=', INVITATION_MAIL)
      .where('params', 'like', `%${old}%`)
      .execute(),
});

/**
 * Keeps mail programs from turning addresses in a name into links: anyone may name an organization, and have its
 * invitation sent to a stranger.
 */
const withoutLinks = (name: string): string => name.replace(/[.:/@](?=\S)/g, '$&\u200b');

/** The invitation mail. Names are shown as the organization wrote them, in text only. */
function toInvitationMail(locale: Locale, name: string, url: string): MailText {
  const organization = withoutLinks(name);
  return locale === 'zh-CN'
    ? {
        subject: `邀请您加入 ${organization}`,
        text: `您受邀加入组织“${organization}”。请打开以下链接接受邀请，链接仅可使用一次，7 天内有效：\n\n${url}\n\n如果您不认识邀请者，请忽略此邮件。\n`,
      }
    : {
        subject: `Invitation to ${organization}`,
        text: `You are invited to the organization “${organization}”. Open this link to accept; it works once, within 7 days:\n\n${url}\n\nIf you do not know who invited you, ignore this mail.\n`,
      };
}
