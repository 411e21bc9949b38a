import type { RequestOrigin } from '../../platform/http/request-context.ts';
import type { Trx } from '../../tables.ts';

/** One change worth keeping: who did what to which object. Secrets are masked before they get here. */
export interface AuditEntry extends Partial<RequestOrigin> {
  /** Account that acted; undefined: the service itself. */
  readonly actorId?: number;
  /** `channel.update`, `mailbox.read`, … */
  readonly action: string;
  /** `channel:7`, `user:12`, … */
  readonly target: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface AuditLog {
  /** Adds an entry in the transaction of the change it describes. */
  record(trx: Trx, entry: AuditEntry): Promise<void>;
}
