import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import type { VideoOperation } from '../../../contract/generation-ways.ts';
import { isObject } from '../../../contract/objects.ts';
import { isChatPrice, minimumVideoPrice, priceMedia } from '../../../contract/pricing.ts';
import { readUserId } from '../../data/browser-storage.ts';
import { canDo, type UsableModel } from '../../data/self.ts';
import { fetchVideoQuote, toQuotedBody, type VideoBody, type VideoQuote } from '../../data/videos.ts';
import { controlsFor, type Draft, fitDraftToModel, toModelBody } from './draft.ts';
import { checkInputs, type DraftInput } from './inputs.ts';

const quoteQuery = (request: VideoBody | undefined) => {
  const body = request === undefined ? undefined : toQuotedBody(request);
  return queryOptions({
    queryKey: ['quote', body],
    queryFn: async ({ signal }) =>
      body === undefined ? null : { ...(await fetchVideoQuote(body, signal)), settings: settingsOf(body) },
    enabled: body !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });
};

/** What a price depends on: a quote of other settings must not be shown, not even until the next one arrives. */
const settingsOf = (body: VideoBody): string => JSON.stringify({ ...toQuotedBody(body), prompt: '' });

/** What a plan can still pay: as much as fits into all of its allowances. */
const allowanceLeft = (windows: VideoQuote['windows'] = []): number =>
  windows.length === 0 ? 0 : Math.min(...windows.map(({ left }) => left));

/**
 * Total price of the requests in quota; null while unknown. Requests of one model differ in the seed only, which no
 * price depends on, so one quote serves them all. `fromBalance`: what the allowance of the plan does not pay. `quote`: only
 * for a single request.
 */
export function useTotalPrice(bodies: readonly VideoBody[] | undefined) {
  const [debounced] = useDebouncedValue(bodies, 250);
  const isOneModel = new Set(bodies?.map(({ model }) => model)).size === 1;
  const quoted = isOneModel ? debounced?.slice(0, 1) : debounced;
  const copies = isOneModel ? (bodies?.length ?? 1) : 1;
  const wanted = (isOneModel ? bodies?.slice(0, 1) : bodies)?.map(settingsOf);
  return useQueries({
    queries: (quoted ?? []).map(quoteQuery),
    combine: (prices) => {
      const isCurrent =
        wanted?.length === prices.length && prices.every(({ data }, index) => data?.settings === wanted[index]);
      const quota = isCurrent ? prices.reduce((sum, { data }) => sum + (data?.quota ?? 0) * copies, 0) : null;
      return {
        quota,
        fromBalance: quota === null ? null : Math.max(0, quota - allowanceLeft(prices[0]?.data?.windows)),
        quote: isCurrent && bodies?.length === 1 ? (prices[0]?.data ?? null) : null,
        error: bodies === undefined ? null : (prices.find(({ error }) => error !== null)?.error ?? null),
      };
    },
  });
}

/**
 * Price of a model for the current settings, in quota; requested from the service if the price depends on more than
 * seconds.
 *
 * @param isWanted whether the model is visible, so that a hundred quotes are not requested at once
 */
export function useModelPrice(model: UsableModel, draft: Draft, isWanted: boolean): number | null {
  const known = plainPrice(model, draft);
  const body = known === undefined && isWanted ? quotedBody(model, draft) : undefined;
  const quote = useQuery(quoteQuery(body));
  return known ?? quote.data?.quota ?? null;
}

/** The price if it consists of amounts per video and per second only. */
function plainPrice(model: UsableModel, draft: Draft): number | undefined {
  const { price } = model;
  if (isChatPrice(price) || price.lines !== undefined || price.multipliers !== undefined) return undefined;
  const seconds = fitDraftToModel(draft, model).draft.seconds ?? controlsFor(model, draft).seconds?.default;
  return seconds === undefined ? undefined : priceMedia(price, { seconds, factors: {} }).quota;
}

/**
 * Request for a quote of an incomplete form: a price depends on neither the prompt nor the image contents, so
 * placeholders are used.
 */
function quotedBody(model: UsableModel, draft: Draft): VideoBody | undefined {
  const given = checkInputs(model, draft.operation, draft.inputs).problems.size === 0 ? draft.inputs : [];
  const { missing } = checkInputs(model, draft.operation, given);
  const placeholders = missing.flatMap(({ type, role, min }) =>
    Array.from({ length: min }, (_, index): DraftInput => {
      const url = `https://images.invalid/${index}.png`;
      return { key: url, type, role, name: '', source: { url } };
    }),
  );
  try {
    return toModelBody(
      { ...draft, prompt: draft.prompt.trim() || 'video', inputs: [...given, ...placeholders] },
      model,
    );
  } catch {
    return undefined;
  }
}

/** The model whose default video is cheapest, among those in the user's plan that can do the operation. */
export function cheapestModel(
  models: readonly UsableModel[],
  operation: VideoOperation = 'generate',
): UsableModel | undefined {
  return models
    .filter((model) => model.permitted && canDo(model, operation))
    .filter(({ capability }) => operation !== 'generate' || capability?.images.min === 0)
    .reduce<UsableModel | undefined>(
      (best, each) => (best === undefined || defaultCost(each) < defaultCost(best) ? each : best),
      undefined,
    );
}

/** The model to start with: the site's if the user may call it, as in requests without a model, or the cheapest. */
export const initialModel = (models: readonly UsableModel[], siteModel: string | undefined): UsableModel | undefined =>
  models.find((model) => model.id === siteModel && model.permitted && canDo(model, 'generate')) ??
  cheapestModel(models);

/** Lowest price of a video of the default duration in quota, without multipliers. */
function defaultCost(model: UsableModel): number {
  const seconds = controlsFor(model).seconds?.default ?? 0;
  return isChatPrice(model.price) ? 0 : minimumVideoPrice(model.price, seconds);
}

/** Favourite and recently used models, stored in this browser per account. */
export interface PickedModels {
  readonly favourites: readonly string[];
  /** Most recent first. */
  readonly recent: readonly string[];
}

const MAX_RECENT = 4;
const key = (): string => `reelgate.models.${readUserId() ?? 0}`;

/** Reads the stored models; empty if they are missing or unreadable. */
export function readPickedModels(): PickedModels {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key()) ?? '{}');
    return isObject(kept)
      ? { favourites: toIds(kept.favourites), recent: toIds(kept.recent) }
      : { favourites: [], recent: [] };
  } catch {
    return { favourites: [], recent: [] };
  }
}

const toIds = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : [];

/** Adds or removes a model as a favourite. */
export const toggleFavouriteModel = (id: string): PickedModels =>
  write(({ favourites, recent }) => ({
    favourites: favourites.includes(id) ? favourites.filter((each) => each !== id) : [...favourites, id],
    recent,
  }));

/** Moves models that were just used to the front of the recent ones. */
export const addRecentModels = (ids: readonly string[]): PickedModels =>
  write(({ favourites, recent }) => ({ favourites, recent: [...new Set([...ids, ...recent])].slice(0, MAX_RECENT) }));

function write(change: (marks: PickedModels) => PickedModels): PickedModels {
  const marks = change(readPickedModels());
  localStorage.setItem(key(), JSON.stringify(marks));
  return marks;
}
