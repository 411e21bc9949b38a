import type { Price, VideoPrice } from '../../contract/pricing.ts';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import type { EventWriter } from '../event-log/event-log.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { ModelLifecycle } from '../vendors/adapter.ts';
import type { Channel, ChannelDirectory, ResolvedModel, Retirement } from './directory.ts';

/** Lifecycles of the vendors' models (retirement dates and successors), and the host on which a channel calls them. */
export interface ModelLifecycles {
  of(vendor: string, model: string): readonly ModelLifecycle[];
  hostOf(channel: Pick<Channel, 'vendor' | 'baseUrl' | 'credentials'>): string;
}

const startOf = (date: string): number => Date.parse(`${date}T00:00:00Z`);

/** The announced retirement of a model on a channel's host, confirmed or not. */
function endOfModelOnHost(
  { vendor, target }: Pick<ResolvedModel, 'vendor' | 'target'>,
  channel: Channel,
  lifecycles: ModelLifecycles,
): ModelLifecycle | undefined {
  const known = lifecycles.of(vendor, channel.modelMapping?.[target] ?? target);
  if (known.length === 0) return undefined;
  const host = lifecycles.hostOf(channel);
  return known.find((each) => each.route === host && each.retiresOn !== undefined);
}

/**
 * The retirement of a model on a channel's host; other hosts may still serve the same name. An unconfirmed retirement
 * does not count.
 */
function retirementOnHost(
  { vendor, target }: Pick<ResolvedModel, 'vendor' | 'target'>,
  channel: Channel,
  lifecycles: ModelLifecycles,
): Retirement | undefined {
  const end = endOfModelOnHost({ vendor, target }, channel, lifecycles);
  if (end?.retiresOn === undefined || end.confirmedOn === null) return undefined;
  return { at: startOf(end.retiresOn), knownSince: startOf(end.checkedOn), successor: end.successor };
}

/** A model of a channel with its retirement on the channel's host. */
export interface EndingModel {
  readonly model: string;
  readonly retiresOn: string;
  readonly successor: string | undefined;
  readonly confirmedOn: string | null;
}

/** The channel's models that have a known retirement on its host. */
export const endingModels = (channel: Channel, lifecycles: ModelLifecycles): readonly EndingModel[] =>
  channel.models.flatMap((model) => {
    const end = endOfModelOnHost({ vendor: channel.vendor, target: model }, channel, lifecycles);
    if (end?.retiresOn === undefined) return [];
    return [{ model, retiresOn: end.retiresOn, successor: end.successor, confirmedOn: end.confirmedOn }];
  });

/** Retirements of models on channels. */
export class ChannelRetirements {
  readonly #lifecycles: ModelLifecycles | undefined;
  /** By target. Computed once per channel, because every call reads them. */
  readonly #known = memoizeByObject((_channel: Channel) => new Map<string, Retirement | undefined>());

  /** @param lifecycles undefined: no retirements are known */
  constructor(lifecycles: ModelLifecycles | undefined) {
    this.#lifecycles = lifecycles;
  }

  /** @param model a model of the channel's vendor */
  on(channel: Channel, model: Pick<ResolvedModel, 'vendor' | 'target'>): Retirement | undefined {
    if (this.#lifecycles === undefined) return undefined;
    const known = this.#known(channel);
    if (!known.has(model.target)) known.set(model.target, retirementOnHost(model, channel, this.#lifecycles));
    return known.get(model.target);
  }

  /** The last retirement among the channels; undefined while any channel still serves the model. */
  onAll(model: Pick<ResolvedModel, 'vendor' | 'target'>, serving: readonly Channel[]): Retirement | undefined {
    let last: Retirement | undefined;
    for (const channel of serving) {
      const end = this.on(channel, model);
      if (end === undefined) return undefined;
      if (last === undefined || end.at > last.at) last = end;
    }
    return last;
  }
}

/**
 * Whether no request costs more under one price than under another. For prices that cannot be compared, only equal
 * prices qualify.
 */
export function isNotDearer(price: Price, than: Price): boolean {
  const [own, other] = [price, than] as readonly [VideoPrice, VideoPrice];
  if (JSON.stringify(own) === JSON.stringify(other)) return true;
  const isPlain = (each: object): boolean => !('lines' in each) && !('tiers' in each);
  if (!isPlain(own) || !isPlain(other)) return false;
  const rate = (each: object, name: string): number => Number((each as Record<string, unknown>)[name] ?? 0);
  const rates = Object.keys(own).filter((name) => name.startsWith('per_') || name.endsWith('_per_million'));
  // A token kind without a rate of its own costs as much as the whole, so both prices must name the same kinds.
  const namesSameParts = Object.keys(other).every((name) => !name.endsWith('_per_million') || name in own);
  if (!namesSameParts || rates.some((name) => rate(own, name) > rate(other, name))) return false;
  const by = (each: VideoPrice, factor: string, value: string): number => each.multipliers?.[factor]?.[value] ?? 1;
  return [own, other].every(({ multipliers = {} }) =>
    Object.entries(multipliers).every(([factor, values]) =>
      Object.keys(values).every((value) => by(own, factor, value) <= by(other, factor, value)),
    ),
  );
}

/** Dependencies of {@link UserRetirementNotices}. */
export interface RetirementNoticesDependencies {
  readonly database: Database<Tables>;
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly notifier: Notifier;
  readonly events: EventWriter;
  readonly usage: { usersOf(model: string, fromDay: number): Promise<number[]> };
  readonly clock: Clock;
}

/** Days before the retirement at which the owners of keys that used a model are notified. */
const NOTICE_DAYS = [60, 30, 7, 1];
/** Accounts that have not used the model for this long are not notified. */
const USED_WITHIN_DAYS = 60;

/**
 * Notifies accounts and administrators of models that are retired. Each notice is written once, by the first process.
 */
export class UserRetirementNotices {
  readonly #dependencies: RetirementNoticesDependencies;
  /** Keys of notices this process has written; those of other processes are detected by their keys. */
  readonly #written = new Set<string>();
  constructor(dependencies: RetirementNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called periodically. Writes only notices that are due and that this process has not written yet. */
  async send(): Promise<void> {
    const { channels, clock } = this.#dependencies;
    await workOnEach(await channels.listModels(), async ({ id }) => {
      const retirement = await channels.retirement(id);
      if (retirement === undefined || retirement.at <= clock.now()) return;
      const daysLeft = Math.ceil((retirement.at - clock.now()) / DAY_MS);
      const due = NOTICE_DAYS.findLast((days) => daysLeft <= days);
      const key = `model.retiring:${id}:${retirement.at}:${due}`;
      if (due === undefined || this.#written.has(key)) return;
      await this.#write(id, retirement, daysLeft, key);
      this.#written.add(key);
    });
  }

  async #write(model: string, { at, successor }: Retirement, daysLeft: number, key: string): Promise<void> {
    const { database, notifier, events, usage, clock } = this.#dependencies;
    const users = await usage.usersOf(model, Math.floor(clock.now() / DAY_MS) - USED_WITHIN_DAYS);
    await database.transaction((trx) =>
      events.write(trx, {
        type: 'model.retiring',
        subject: `model:${model}`,
        data: { model, retires_at: toSeconds(at), successor: successor ?? null, accounts: users.length },
        deduplicationKey: key,
      }),
    );
    await workOnEach(users, (userId) =>
      database.transaction((trx) => notifier.notify(trx, toNotice(userId, model, successor, daysLeft, key))),
    );
  }
}

function toNotice(
  userId: number,
  model: string,
  successor: string | undefined,
  daysLeft: number,
  deduplicationKey: string,
): Notice {
  const next =
    successor === undefined
      ? { en: '', 'zh-CN': '' }
      : { en: ` Its successor is ${successor}.`, 'zh-CN': `其后继为 ${successor}。` };
  const days = { en: daysLeft === 1 ? 'one day' : `${daysLeft} days`, 'zh-CN': `${daysLeft} 天` };
  return {
    userId,
    topic: 'system',
    type: 'system',
    title: { en: `${model} ends in ${days.en}`, 'zh-CN': `${model} 将在 ${days['zh-CN']}后停止服务` },
    content: {
      en: `Its vendor stops serving it, and calls are rejected from then on.${next.en}`,
      'zh-CN': `供应商将停止提供该模型，此后的调用会被拒绝。${next['zh-CN']}`,
    },
    targetUrl: '',
    deduplicationKey,
  };
}
