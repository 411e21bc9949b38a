import { HOUR_MS, toSeconds } from '../../contract/time-units.ts';
import type { Notice } from '../notifications/notifier-types.ts';
import type { ExpiringSubscription } from './subscription-store.ts';

/** The console's page of the own plan. */
const PACKAGES_PAGE = '/packages';

const NOTICE_BASE = { topic: 'package.expiring', type: 'system', targetUrl: PACKAGES_PAGE } as const;

/** @param next name of the plan of the subscription that begins when this one ends */
export function buildExpiringSoonNotice(
  { id, user_id, name, code, expires_at }: ExpiringSubscription,
  next: string | undefined,
  now: number,
): Notice {
  const hours = Math.max(1, Math.round((expires_at - now) / HOUR_MS));
  const when =
    hours >= 48
      ? { en: `in ${Math.round(hours / 24)} days`, 'zh-CN': `${Math.round(hours / 24)} 天后` }
      : { en: hours === 1 ? 'in one hour' : `in ${hours} hours`, 'zh-CN': `${hours} 小时后` };
  return {
    ...NOTICE_BASE,
    userId: user_id,
    title: { en: `Your plan “${name}” expires soon`, 'zh-CN': `您的套餐“${name}”即将到期` },
    content: {
      en: `It expires ${when.en}. ${next === undefined ? 'Redeem another code to extend it.' : `“${next}” follows.`}`,
      'zh-CN': `套餐将在${when['zh-CN']}到期。${next === undefined ? '兑换新的兑换码即可续期。' : `随后启用“${next}”。`}`,
    },
    deduplicationKey: `package.expiring:${id}:${expires_at}`,
    event: {
      type: 'plan.expiring',
      subject: `subscription:${id}`,
      data: { package_code: code, name, expires_at: toSeconds(expires_at), next: next ?? null },
    },
  };
}

export function buildExpiredNotice(userId: number, id: number, name: string, next: string | undefined): Notice {
  return {
    ...NOTICE_BASE,
    userId,
    title: { en: `Your plan “${name}” has expired`, 'zh-CN': `您的套餐“${name}”已到期` },
    content:
      next === undefined
        ? { en: 'Calls are now paid from your balance.', 'zh-CN': '此后的调用从余额扣费。' }
        : { en: `“${next}” is active now.`, 'zh-CN': `现已启用“${next}”。` },
    deduplicationKey: `package.ended:${id}`,
  };
}
