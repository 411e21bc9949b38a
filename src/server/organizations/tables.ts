import type { Generated } from 'kysely';
import type { OrganizationRole } from '../../contract/organization-roles.ts';
import type { SpendPeriod } from '../../contract/spend-limits.ts';
import { addIndex, type Migration, required } from '../platform/db/migrate.ts';

/** Tables of organizations. */
export interface OrganizationTables {
  /** `id`: the row of `accounts` that owns everything of the organization and cannot sign in. */
  organizations: {
    id: number;
    slug: string;
    name: string;
    prompts_visible_to_admins: 0 | 1;
    created_at: number;
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
  (column: 'actor_id' | 'organization_id') =>
  (table: string): Migration => ({
    id: `0111-${column.replace('_', '-')}-of-${table.replace('_', '-')}`,
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
];
