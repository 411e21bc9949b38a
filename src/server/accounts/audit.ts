import type { Transaction } from 'kysely';
import type { Tables } from '../tables.ts';

/** One change worth remembering: who did what to which thing. Secrets are masked before they get here. */
export interface AuditEntry {
  /** Account that acted; undefined: the service itself. */
  readonly actorId?: number;
  /** `channel.update`, `mailbox.read`, … */
  readonly action: string;
  /** `channel:7`, `user:12`, … */
  readonly target: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly address?: string;
  readonly requestId?: string;
}

export interface Audit {
  /** Inside the transaction of the change it tells of. */
  record(trx: Transaction<Tables>, entry: AuditEntry): Promise<void>;
}
