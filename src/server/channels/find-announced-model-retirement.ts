import type { Price, VideoPrice } from '../../contract/pricing.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { ModelLifecycle } from '../vendors/adapter-types.ts';
import type { Channel, ResolvedModel, Retirement } from './channel-directory-types.ts';

/** Lifecycles of the vendors' models (retirement dates and successors), and the host on which a channel calls them. */
export interface ModelLifecycles {
  of(vendor: string, model: string): readonly ModelLifecycle[];
  hostOf(channel: Pick<Channel, 'vendor' | 'baseUrl' | 'credentials'>): string;
}

const startOf = (date: string): number => Date.parse(`${date}T00:00:00Z`);

/** The announced end of a model on the host of a channel, confirmed or not. */
export function endOfModelOnHost(
  { vendor, target }: Pick<ResolvedModel, 'vendor' | 'target'>,
  channel: Channel,
  lifecycles: ModelLifecycles,
): ModelLifecycle | undefined {
  const known = lifecycles.of(vendor, channel.modelMapping?.[target] ?? target);
  if (known.length === 0) return undefined;
  const host = lifecycles.hostOf(channel);
  return known.find((each) => each.route === host && each.retiresOn !== undefined);
}

/** The end of a model on the host of a channel; other hosts may serve the same name on. An end nobody has confirmed is none. */
function retirementOnHost(
  { vendor, target }: Pick<ResolvedModel, 'vendor' | 'target'>,
  channel: Channel,
  lifecycles: ModelLifecycles,
): Retirement | undefined {
  const end = endOfModelOnHost({ vendor, target }, channel, lifecycles);
  if (end?.retiresOn === undefined || end.confirmedOn === null) return undefined;
  return { at: startOf(end.retiresOn), knownSince: startOf(end.checkedOn), successor: end.successor };
}

/** A model of a channel with its end on the channel's host. */
export interface EndingModel {
  readonly model: string;
  readonly retiresOn: string;
  readonly successor: string | undefined;
  readonly confirmedOn: string | null;
}

export const endingModels = (channel: Channel, lifecycles: ModelLifecycles): readonly EndingModel[] =>
  channel.models.flatMap((model) => {
    const end = endOfModelOnHost({ vendor: channel.vendor, target: model }, channel, lifecycles);
    if (end?.retiresOn === undefined) return [];
    return [{ model, retiresOn: end.retiresOn, successor: end.successor, confirmedOn: end.confirmedOn }];
  });

/** The ends of models on channels, found out once for each: every call asks, and they follow from the channel alone. */
export class ChannelRetirements {
  readonly #lifecycles: ModelLifecycles | undefined;
  /** By target. */
  readonly #known = memoizeByObject((_channel: Channel) => new Map<string, Retirement | undefined>());

  /** Models whose end is announced, by what they are without it. */
  readonly #announced = new WeakMap<ResolvedModel, ResolvedModel>();

  /** @param lifecycles undefined: nothing is known to end */
  constructor(lifecycles: ModelLifecycles | undefined) {
    this.#lifecycles = lifecycles;
  }

  /** @param model of the vendor of the channel */
  on(channel: Channel, model: Pick<ResolvedModel, 'vendor' | 'target'>): Retirement | undefined {
    if (this.#lifecycles === undefined) return undefined;
    const known = this.#known(channel);
    if (!known.has(model.target)) known.set(model.target, retirementOnHost(model, channel, this.#lifecycles));
    return known.get(model.target);
  }

  /** A model of a catalog with its end: the same object each time, as what belongs to a model is kept by its object. */
  announce(model: ResolvedModel, retirement: Retirement): ResolvedModel {
    const known = this.#announced.get(model) ?? { ...model, retirement };
    this.#announced.set(model, known);
    return known;
  }

  /** The end of the last channel; undefined while any channel goes on. */
  onAll(serving: readonly Channel[], model: Pick<ResolvedModel, 'vendor' | 'target'>): Retirement | undefined {
    let last: Retirement | undefined;
    for (const channel of serving) {
      const end = this.on(channel, model);
      if (end === undefined) return undefined;
      if (last === undefined || end.at > last.at) last = end;
    }
    return last;
  }
}

/** Whether no request costs more by one price than by another. Of prices that cannot be compared, only the same one. */
export function isNotDearer(price: Price, than: Price): boolean {
  const [own, other] = [price, than] as readonly [VideoPrice, VideoPrice];
  if (JSON.stringify(own) === JSON.stringify(other)) return true;
  const isPlain = (each: object): boolean => !('lines' in each) && !('tiers' in each);
  if (!isPlain(own) || !isPlain(other)) return false;
  const rate = (each: object, name: string): number => Number((each as Record<string, unknown>)[name] ?? 0);
  const rates = Object.keys(own).filter((name) => name.startsWith('per_') || name.endsWith('_per_million'));
  // A part of tokens without a rate of its own costs what the whole does, so both must name the same.
  const namesSameParts = Object.keys(other).every((name) => !name.endsWith('_per_million') || name in own);
  if (!namesSameParts || rates.some((name) => rate(own, name) > rate(other, name))) return false;
  const by = (each: VideoPrice, factor: string, value: string): number => each.multipliers?.[factor]?.[value] ?? 1;
  return [own, other].every(({ multipliers = {} }) =>
    Object.entries(multipliers).every(([factor, values]) =>
      Object.keys(values).every((value) => by(own, factor, value) <= by(other, factor, value)),
    ),
  );
}
