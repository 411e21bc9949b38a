import { type Generated, sql } from 'kysely';
import type { SpendPeriod } from '../../contract/amounts.ts';
import type { OrganizationRole } from '../../contract/organization-roles.ts';
import { addIndex, type Migration, required, zero } from '../platform/db/migrate.ts';

/** Tables of organizations. */
export interface OrganizationTables {
  /** `id`: the row of `accounts` that owns everything of the organization and cannot sign in. */
  organizations: {
    id: number;
    slug: string;
    name: string;
    prompts_visible_to_admins: 0 | 1;
    created_at: number;
    /** When an owner or administrator closed it; null: it is open. */
    closed_at: Generated<number | null>;
  };
  /** The limit on a member's spending is in `spend_limits`. */
  organization_members: {
    organization_id: number;
    user_id: number;
    role: OrganizationRole;
    /** Id of the identity provider whose claim made the member; null: an invitation. */
    provider: string | null;
    created_at: number;
  };
  /** What an account handed over to an organization. */
  organization_transfers: {
    id: Generated<number>;
    user_id: number;
    organization_id: number;
    /** JSON list of the things that move. */
    things: string;
    /** Moved when the transfer was decided, like keys and webhooks. */
    quota: number;
    keys: Generated<number>;
    webhooks: Generated<number>;
    /** Moved so far. */
    videos: Generated<number>;
    files: Generated<number>;
    /** Things that the account owned at this time move. */
    created_at: number;
    finished_at: number | null;
    /** `user_id` while it is running, so that an account has one running transfer at most; null afterwards. */
    running_user_id: number | null;
  };
  /** Open invitations by the SHA-256 of their token; deleted when used. */
  organization_invitations: {
    id: Generated<number>;
    organization_id: number;
    hash: string;
    role: OrganizationRole;
    email: string | null;
    spend_amount: number | null;
    spend_period: SpendPeriod | null;
    invited_by: number;
    created_at: number;
    expires_at: number;
  };
}

/** Migrations that add a nullable reference to an account. */
const addReference =
  (column: 'actor_id' | 'organization_id', step = '0111') =>
  (table: string): Migration => ({
    id: `${step}-${column.replace('_', '-')}-of-${table.replace('_', '-')}`,
    up: async ({ schema }, { int64 }) => {
      await schema.alterTable(table).addColumn(column, int64).execute();
    },
  });

/** Schema history of organizations. */
export const organizationMigrations: readonly Migration[] = [
  {
    id: '0110-organizations',
    async up({ schema }, { int64, bool, text, autoIncrement }) {
      await schema
        .createTable('organizations')
        .addColumn('id', int64, (column) => column.primaryKey())
        .addColumn('slug', text, (column) => column.notNull().unique())
        .addColumn('name', text, required)
        .addColumn('prompts_visible_to_admins', bool, required)
        .addColumn('created_at', int64, required)
        .execute();
      await schema
        .createTable('organization_members')
        .addColumn('organization_id', int64, required)
        .addColumn('user_id', int64, required)
        .addColumn('role', text, required)
        .addColumn('provider', text)
        .addColumn('created_at', int64, required)
        .addPrimaryKeyConstraint('organization_members_key', ['organization_id', 'user_id'])
        .execute();
      await schema
        .createTable('organization_invitations')
        .addColumn('id', int64, autoIncrement)
        .addColumn('organization_id', int64, required)
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('role', text, required)
        .addColumn('email', text)
        .addColumn('spend_amount', int64)
        .addColumn('spend_period', text)
        .addColumn('invited_by', int64, required)
        .addColumn('created_at', int64, required)
        .addColumn('expires_at', int64, required)
        .execute();
      const index = (name: string, on: string, columns: string[]) => schema.createIndex(name).on(on).columns(columns);
      await index('organization_members_by_user', 'organization_members', ['user_id', 'organization_id']).execute();
      await index('organization_invitations_by_organization', 'organization_invitations', [
        'organization_id',
        'id',
      ]).execute();
      await index('organization_invitations_by_end', 'organization_invitations', ['expires_at']).execute();
    },
  },
  // One migration per table: none locks two tables in use. A new column without a value changes no existing row.
  {
    id: '0111-account-kinds',
    async up({ schema }, { text }) {
      await schema
        .alterTable('accounts')
        .addColumn('kind', text, (column) => column.notNull().defaultTo('person'))
        .execute();
    },
  },
  ...['tokens', 'tasks', 'reservations', 'ledger', 'requests', 'files'].map(addReference('actor_id')),
  ...['device_codes', 'device_authorizations'].map(addReference('organization_id')),
  {
    id: '0112-tokens-by-actor',
    outsideTransaction: true,
    up: addIndex({
      name: 'tokens_by_actor',
      table: 'tokens',
      columns: ['actor_id'],
      where: 'actor_id is not null',
    }),
  },
  addReference('actor_id', '0113')('video_shares'),
  {
    id: '0114-closed-organizations',
    async up({ schema }, { int64 }) {
      await schema.alterTable('organizations').addColumn('closed_at', int64).execute();
    },
  },
  {
    id: '0115-organization-transfers',
    async up({ schema }, { int64, text, autoIncrement }) {
      await schema
        .createTable('organization_transfers')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, required)
        .addColumn('organization_id', int64, required)
        .addColumn('things', text, required)
        .addColumn('quota', int64, required)
        .addColumn('keys', int64, zero)
        .addColumn('webhooks', int64, zero)
        .addColumn('videos', int64, zero)
        .addColumn('files', int64, zero)
        .addColumn('created_at', int64, required)
        .addColumn('finished_at', int64)
        .addColumn('running_user_id', int64, (column) => column.unique())
        .execute();
      await schema
        .createIndex('organization_transfers_by_organization')
        .on('organization_transfers')
        .columns(['organization_id', 'id'])
        .execute();
    },
  },
  addReference('organization_id', '0116')('audit_log'),
  {
    id: '0117-organization-id-of-audited-organizations',
    async up(trx) {
      await sql`update audit_log set organization_id = cast(substr(target, 14) as bigint)
        where target like 'organization:%'`.execute(trx);
    },
  },
  {
    id: '0118-audit-log-by-organization',
    outsideTransaction: true,
    up: addIndex({
      name: 'audit_log_by_organization',
      table: 'audit_log',
      columns: ['organization_id', 'id'],
      where: 'organization_id is not null',
    }),
  },
];
