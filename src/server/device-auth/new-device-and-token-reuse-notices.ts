import type { Notice } from '../notifications/notifier-types.ts';
import type { DeviceCodeRow } from './device-code-store.ts';

/** Where the console lists devices. */
export const DEVICES_PAGE = '/account/devices';

type Device = { readonly id: number; readonly clientName: string; readonly registeredName: string };

const nameOf = ({ clientName, registeredName }: Device): string =>
  clientName === '' || clientName === registeredName ? registeredName : `${registeredName} (“${clientName}”)`;

/** A device was approved. If somebody else did it, this is how the owner finds out. */
export function newDeviceNotice(code: DeviceCodeRow & { readonly user_id: number }, registeredName: string): Notice {
  const name = nameOf({ id: code.id, clientName: code.client_name, registeredName });
  const { address } = code;
  return {
    userId: code.user_id,
    topic: 'device.new',
    type: 'system',
    title: { en: 'New device signed in', 'zh-CN': '新设备已登录' },
    content: {
      en: `${name} was allowed to sign in from ${address}. If this was not you, sign it out in the list of devices and change your password.`,
      'zh-CN': `已允许 ${name} 从 ${address} 登录。如果不是您本人操作，请在设备列表中结束该登录并修改密码。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: code.id,
    deduplicationKey: `device.new:${code.id}`,
    event: { type: 'device.signed_in', subject: `device:${code.id}`, data: { id: code.id, name, address } },
  };
}

/** A refresh_token was used twice: somebody else may have a copy. */
export function reuseNotice(device: Device & { readonly userId: number }): Notice {
  const name = nameOf(device);
  return {
    userId: device.userId,
    topic: 'security',
    type: 'system',
    title: { en: 'A device was signed out for safety', 'zh-CN': '为安全起见，已退出一台设备' },
    content: {
      en: `${name} used a refresh token that had been used before, so its sign-in was ended. Sign in again on it; if you did not expect this, change your password.`,
      'zh-CN': `${name} 重复使用了已失效的刷新令牌，其登录已被结束。请在该设备上重新登录；如果您对此并不知情，请修改密码。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: device.id,
    deduplicationKey: `device.reuse:${device.id}`,
  };
}
