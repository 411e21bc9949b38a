import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Ok } from './success-bodies-and-pagination.ts';

/** Incidents by id and how bad they are: those of docs/runbook.md, by the rules of deploy/alerts.yml. */
export const INCIDENTS = {
  vendor_down: 'critical',
  vendor_slow: 'warning',
  key_revoked: 'critical',
  no_balance: 'critical',
  database_slow: 'warning',
  database_gone: 'critical',
  disk_nearly_full: 'critical',
  mail_server_gone: 'warning',
  replica_frozen: 'critical',
  backlog_grows: 'critical',
  ledger_mismatch: 'critical',
  billing_difference: 'warning',
  webhook_target_dead: 'warning',
} as const satisfies Readonly<Record<string, 'critical' | 'warning'>>;
export type IncidentId = keyof typeof INCIDENTS;

const Count = Type.Integer({ minimum: 0 });
const Figures = Type.Object({ requests: Count, failed: Count, quota: Count });

export const getServiceStatus = endpoint({
  method: 'GET',
  path: '/api/admin/operations',
  summary: 'Whether everything works: incidents and processes, what the last day cost, and whose calls are refused',
  tag: 'service',
  policy: 'admin',
  envelope: 'api',
  response: Ok(
    Type.Object({
      incidents: Type.Array(
        Type.Object({
          id: Type.Enum(Object.keys(INCIDENTS)),
          severity: Type.Enum(['critical', 'warning']),
          is_open: Type.Boolean(),
          since: Type.Integer({ description: 'Unix seconds; 0 while it is not open.' }),
          subjects: Type.Array(Type.String(), { description: 'Vendors, channel ids, volumes or processes.' }),
        }),
        { description: 'All of them, open or not, as the processes learned them within the last minute.' },
      ),
      instances: Type.Array(
        Type.Object({
          name: Type.String(),
          version: Type.String(),
          started_at: Type.Integer(),
          seen_at: Type.Integer(),
          is_alive: Type.Boolean(),
        }),
      ),
      last_day: Figures,
      day_before: Figures,
      blocked: Type.Array(
        Type.Object({
          user_id: Type.Integer(),
          username: Type.String(),
          error_code: Type.String(),
          requests: Count,
          last_time: Type.Integer({ description: 'Unix seconds.' }),
        }),
        { description: 'Accounts whose calls of the last day were refused for what only they or you can change.' },
      ),
    }),
  ),
});
