import type { TicketStatus } from '../../contract/tickets.ts';
import type { AdminNotice, Bilingual, Notice } from '../notifications/notifier.ts';
import type { TicketRow } from './ticket-store.ts';

const both = (text: string): Bilingual => ({ en: text, 'zh-CN': text });

const STATUS: Readonly<Record<TicketStatus, Bilingual>> = {
  open: { en: 'open', 'zh-CN': '待处理' },
  in_progress: { en: 'in progress', 'zh-CN': '处理中' },
  resolved: { en: 'resolved', 'zh-CN': '已解决' },
  closed: { en: 'closed', 'zh-CN': '已关闭' },
};

const forOwner = ({ id, user_id }: Pick<TicketRow, 'id' | 'user_id'>) =>
  ({ userId: user_id, topic: 'ticket', targetUrl: `/tickets/${id}`, relatedId: id }) as const;

/** To the owner: an administrator has answered. */
export const answered = (ticket: TicketRow, content: string): Notice => ({
  ...forOwner(ticket),
  type: 'ticket_reply',
  title: { en: `Reply to “${ticket.title}”`, 'zh-CN': `“${ticket.title}”有新回复` },
  content: both(content),
});

/** To the owner: an administrator has set another status. */
export const statusSet = (ticket: TicketRow, to: TicketStatus): Notice => {
  const [before, after] = [STATUS[ticket.status], STATUS[to]];
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
    causedBy: user_id,
    targetUrl: `/admin/tickets/${id}`,
    relatedId: id,
  }) as const;

/** To administrators: a new ticket. */
export const opened = (ticket: Pick<TicketRow, 'id' | 'user_id' | 'title' | 'content'>): AdminNotice => ({
  ...forStaff(ticket),
  title: { en: `New ticket: ${ticket.title}`, 'zh-CN': `新工单：${ticket.title}` },
  content: both(ticket.content),
});

/** To administrators: the owner has written again. */
export const writtenOn = (ticket: TicketRow, content: string): AdminNotice => ({
  ...forStaff(ticket),
  title: { en: `Ticket ${ticket.id} goes on: ${ticket.title}`, 'zh-CN': `工单 ${ticket.id} 有补充：${ticket.title}` },
  content: both(content),
});
