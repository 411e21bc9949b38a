import type { Notice } from '../notifications/notifier.ts';
import type { EndingSoon } from './plan-store.ts';

/** Where the console shows packages. */
const PACKAGES_PAGE = '/packages';
const HOUR_MS = 3_600_000;

const told = { topic: 'package.expiring', type: 'system', targetUrl: PACKAGES_PAGE } as const;

/** @param next the name of the package that follows by itself */
export function endingSoonNotice(
  { id, user_id, name, expires_at }: EndingSoon,
  next: string | undefined,
  now: number,
): Notice {
  const hours = Math.max(1, Math.round((expires_at - now) / HOUR_MS));
  const when =
    hours >= 48
      ? { en: `in ${Math.round(hours / 24)} days`, 'zh-CN': `${Math.round(hours / 24)} 天后` }
      : { en: hours === 1 ? 'in one hour' : `in ${hours} hours`, 'zh-CN': `${hours} 小时后` };
  return {
    ...told,
    userId: user_id,
    title: { en: `Your package “${name}” ends soon`, 'zh-CN': `您的套餐“${name}”即将到期` },
    content: {
      en: `It ends ${when.en}. ${next === undefined ? 'Redeem another code to go on with it.' : `“${next}” follows.`}`,
      'zh-CN': `套餐将在${when['zh-CN']}到期。${next === undefined ? '兑换新的兑换码即可续期。' : `随后启用“${next}”。`}`,
    },
    onceKey: `package.expiring:${id}:${expires_at}`,
  };
}

export function endedNotice(userId: number, id: number, name: string, next: string | undefined): Notice {
  return {
    ...told,
    userId,
    title: { en: `Your package “${name}” has ended`, 'zh-CN': `您的套餐“${name}”已到期` },
    content:
      next === undefined
        ? { en: 'Calls are paid from the wallet from now on.', 'zh-CN': '此后的调用将从钱包扣费。' }
        : { en: `“${next}” runs now.`, 'zh-CN': `现已启用“${next}”。` },
    onceKey: `package.ended:${id}`,
  };
}
