import type { TicketStatus } from '../../contract/tickets.ts';
import type { AdminNotice, Bilingual, Notice } from '../notifications/notifier-types.ts';
import type { TicketRow } from './ticket-store.ts';

/** A payload stays below 20 KB, which Standard Webhooks recommends. */
const MAX_EVENT_TEXT = 2_000;

const inBothLanguages = (text: string): Bilingual => ({ en: text, 'zh-CN': text });

const STATUS_TEXT: Readonly<Record<TicketStatus, Bilingual>> = {
  open: { en: 'open', 'zh-CN': '待处理' },
  in_progress: { en: 'in progress', 'zh-CN': '处理中' },
  resolved: { en: 'resolved', 'zh-CN': '已解决' },
  closed: { en: 'closed', 'zh-CN': '已关闭' },
};

const forOwner = ({ id, user_id }: Pick<TicketRow, 'id' | 'user_id'>) =>
  ({ userId: user_id, topic: 'ticket', targetUrl: `/tickets/${id}`, relatedId: id }) as const;

/** To the owner: an administrator replied. */
export const staffReplyNotice = (ticket: TicketRow, content: string): Notice => ({
  ...forOwner(ticket),
  type: 'ticket_reply',
  title: { en: `Reply to “${ticket.title}”`, 'zh-CN': `“${ticket.title}”有新回复` },
  content: inBothLanguages(content),
  event: {
    type: 'ticket.replied',
    subject: `ticket:${ticket.id}`,
    data: { id: ticket.id, title: ticket.title, content: content.slice(0, MAX_EVENT_TEXT) },
  },
});

/** To the owner: an administrator changed the status. */
export const statusChangeNotice = (ticket: TicketRow, to: TicketStatus): Notice => {
  const [before, after] = [STATUS_TEXT[ticket.status], STATUS_TEXT[to]];
  return {
    ...forOwner(ticket),
    type: 'ticket_status',
    title: { en: `“${ticket.title}” is ${after.en}`, 'zh-CN': `“${ticket.title}”${after['zh-CN']}` },
    content: {
      en: `Ticket ${ticket.id} was ${before.en} and is ${after.en} now.`,
      'zh-CN': `工单 ${ticket.id} 的状态由“${before['zh-CN']}”变为“${after['zh-CN']}”。`,
    },
  };
};

const forStaff = ({ id, user_id }: Pick<TicketRow, 'id' | 'user_id'>) =>
  ({
    type: 'admin_ticket',
    topic: 'ticket',
    exceptUserId: user_id,
    targetUrl: `/admin/tickets/${id}`,
    relatedId: id,
  }) as const;

/** To administrators: a new ticket. */
export const newTicketNotice = (ticket: Pick<TicketRow, 'id' | 'user_id' | 'title' | 'content'>): AdminNotice => ({
  ...forStaff(ticket),
  title: { en: `New ticket: ${ticket.title}`, 'zh-CN': `新工单：${ticket.title}` },
  content: inBothLanguages(ticket.content),
});

/** To administrators: the owner replied. */
export const ownerReplyNotice = (ticket: TicketRow, content: string): AdminNotice => ({
  ...forStaff(ticket),
  title: {
    en: `New reply in ticket ${ticket.id}: ${ticket.title}`,
    'zh-CN': `工单 ${ticket.id} 有补充：${ticket.title}`,
  },
  content: inBothLanguages(content),
});
