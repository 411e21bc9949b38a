import type { AdminNotice, Notice } from '../notifications/notifier-types.ts';
import type { BetaApplicationRow } from './beta-application-store.ts';

/** To administrators: a new application. */
export const newApplicationNotice = (
  id: number,
  row: Pick<BetaApplicationRow, 'user_id' | 'feature' | 'reason'>,
): AdminNotice => ({
  type: 'admin_beta',
  topic: 'beta',
  exceptUserId: row.user_id,
  title: { en: `Beta application: ${row.feature}`, 'zh-CN': `内测申请：${row.feature}` },
  content: { en: row.reason, 'zh-CN': row.reason },
  targetUrl: `/admin/beta-applications/${id}`,
  relatedId: id,
});

const RESULT_TEXT = {
  approved: { en: 'Your application was approved.', 'zh-CN': '您的申请已通过。' },
  rejected: { en: 'Your application was not approved.', 'zh-CN': '您的申请未通过。' },
} as const;

/** To the applicant: the decision, with the administrator's note. */
export function decisionNotice({ id, user_id, feature, status, note }: BetaApplicationRow): Notice {
  const text = RESULT_TEXT[status === 'approved' ? 'approved' : 'rejected'];
  const noted = note === '' ? '' : `\n${note}`;
  return {
    userId: user_id,
    type: 'beta_result',
    topic: 'beta',
    title: { en: `Beta access to ${feature}`, 'zh-CN': `内测申请结果：${feature}` },
    content: { en: `${text.en}${noted}`, 'zh-CN': `${text['zh-CN']}${noted}` },
    targetUrl: '/beta-applications',
    relatedId: id,
  };
}
