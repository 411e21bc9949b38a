import { DAY_MS } from '../../contract/time-units.ts';
import type { Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { Trx } from '../tables.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EndpointRow, EndpointStore } from './endpoint-store.ts';

export interface FailingEndpointDisablerDependencies {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** An endpoint that accepted no delivery for so long is disabled. */
const DISABLE_AFTER_MS = 5 * DAY_MS;

const REASONS = {
  gone: {
    en: 'It responded with 410 (Gone), which asks for no more deliveries.',
    'zh-CN': '接收方返回 410（Gone），表示不再接收推送。',
  },
  failing: {
    en: 'Every delivery failed for 5 days. Fix the receiver, enable the webhook again and replay what it missed.',
    'zh-CN': '连续 5 天推送全部失败。请修复接收方，重新启用 Webhook，并重放错过的事件。',
  },
} as const;

/** Disables endpoints that are gone or have failed for five days, and notifies their owners. */
export class FailingEndpointDisabler {
  readonly #dependencies: FailingEndpointDisablerDependencies;
  constructor(dependencies: FailingEndpointDisablerDependencies) {
    this.#dependencies = dependencies;
  }

  /** A delivery failed, in the transaction that stores it. @param isGone the receiver answered 410 */
  async record(trx: Trx, id: number, isGone: boolean): Promise<void> {
    const { endpoints, clock } = this.#dependencies;
    const now = clock.now();
    const since = await endpoints.markFailing(trx, id, now);
    if (isGone) await this.#disable(trx, id, 'gone');
    else if (since !== undefined && since <= now - DISABLE_AFTER_MS) await this.#disable(trx, id, 'failing');
  }

  async #disable(trx: Trx, id: number, reason: keyof typeof REASONS): Promise<void> {
    const { endpoints, deliveries, notifier, clock } = this.#dependencies;
    const endpoint = await endpoints.disable(trx, id, reason);
    if (endpoint === undefined) return;
    await deliveries.failPending(trx, id, 'the endpoint was disabled');
    await notifier.notify(trx, toNotice(endpoint, reason, clock.now()));
  }
}

function toNotice({ id, user_id, url }: EndpointRow, reason: keyof typeof REASONS, now: number) {
  const host = URL.parse(url)?.host ?? '';
  return {
    userId: user_id,
    topic: 'webhook',
    type: 'system',
    title: { en: `The webhook to ${host} was disabled`, 'zh-CN': `发往 ${host} 的 Webhook 已停用` },
    content: REASONS[reason],
    targetUrl: `/account/webhooks/${id}`,
    relatedId: id,
    deduplicationKey: `webhook.disabled:${id}:${now}`,
  } as const;
}
