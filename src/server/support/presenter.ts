import type { Static } from 'typebox';
import type * as betaEndpoints from '../../contract/beta-applications.ts';
import type * as ticketEndpoints from '../../contract/tickets.ts';
import type { TicketWaitingFor } from '../../contract/tickets.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { BetaApplicationRow } from './beta-application-store.ts';
import type { ReplyRow, TicketRow } from './ticket-store.ts';

function waitingFor({ status, awaits_staff }: TicketRow): TicketWaitingFor {
  if (status === 'resolved' || status === 'closed') return 'nobody';
  return awaits_staff === 1 ? 'staff' : 'user';
}

/** A ticket; what only administrators see is left out where the response schema does not name it. */
export const toTicket = (row: TicketRow): Static<typeof ticketEndpoints.AdminTicket> => ({
  id: row.id,
  user_id: row.user_id,
  title: row.title,
  category: row.category,
  status: row.status,
  waiting_for: waitingFor(row),
  task_id: row.task_id,
  reply_count: row.reply_count,
  created_time: toSeconds(row.created_at),
  updated_time: toSeconds(row.updated_at),
});

export const toReply = (row: ReplyRow): Static<typeof ticketEndpoints.TicketReply> => ({
  id: row.id,
  by_staff: row.by_staff === 1,
  content: row.content,
  task_id: row.task_id,
  created_time: toSeconds(row.created_at),
});

export const toBetaApplication = (row: BetaApplicationRow): Static<typeof betaEndpoints.AdminBetaApplication> => ({
  id: row.id,
  user_id: row.user_id,
  feature: row.feature,
  reason: row.reason,
  status: row.status,
  note: row.note,
  decided_by: row.decided_by,
  created_time: toSeconds(row.created_at),
  decided_time: row.decided_at === null ? null : toSeconds(row.decided_at),
});
