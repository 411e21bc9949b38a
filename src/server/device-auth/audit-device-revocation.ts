import { defined } from '../../contract/omit-undefined.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { RequestOrigin } from '../platform/http/request-context.ts';
import type { Trx } from '../tables.ts';
import type { RevokedAuthorization } from './authorization-store.ts';

/** Records in the audit log that a device was signed out. Without an actor it was the client or the service. */
export const auditRevocation = (
  auditLog: AuditLog,
  trx: Trx,
  revoked: RevokedAuthorization,
  action: string,
  origin: RequestOrigin,
  actorId?: number,
): Promise<void> =>
  auditLog.record(trx, {
    ...defined({ actorId }),
    action,
    target: `device:${revoked.id}`,
    before: { user: revoked.user_id, client: revoked.client_id, name: revoked.client_name },
    ...origin,
  });
