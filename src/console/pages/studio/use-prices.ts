import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { isChatPrice, priceMedia } from '../../../contract/pricing.ts';
import type { UsableModel } from '../../data/usable-models-query.ts';
import { fetchVideoQuote, type VideoBody } from '../../data/video-queries.ts';
import { toModelBody } from './compared-models-and-request-bodies.ts';
import { controlsFor, type Draft, fitDraftToModel } from './draft-type-and-fit-to-model.ts';

const quoteQuery = (body: VideoBody | undefined) =>
  queryOptions({
    queryKey: ['quote', body],
    queryFn: ({ signal }) => (body === undefined ? null : fetchVideoQuote(body, signal)),
    enabled: body !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });

/** What these requests cost together, in quota; null while it is not known. `quote`: of a single request. */
export function useTotalPrice(bodies: readonly VideoBody[] | undefined) {
  const [debounced] = useDebouncedValue(bodies, 250);
  return useQueries({
    queries: (debounced ?? []).map(quoteQuery),
    combine: (prices) => ({
      quota:
        bodies === undefined || prices.length !== bodies.length || prices.some(({ data }) => data == null)
          ? null
          : prices.reduce((sum, { data }) => sum + (data?.quota ?? 0), 0),
      quote: prices.length === 1 ? (prices[0]?.data ?? null) : null,
      error: bodies === undefined ? null : (prices.find(({ error }) => error !== null)?.error ?? null),
    }),
  });
}

/**
 * What a model costs with the present settings, in quota; asked of the service where the price depends on more than seconds.
 *
 * @param isWanted whether it is in sight: a hundred models are not asked for at once
 */
export function useModelPrice(model: UsableModel, draft: Draft, isWanted: boolean): number | null {
  const known = plainPrice(model, draft);
  const body = known === undefined && isWanted ? quotedBody(model, draft) : undefined;
  const quote = useQuery(quoteQuery(body));
  return known ?? quote.data?.quota ?? null;
}

/** The price where it consists of a sum for each video and each second. */
function plainPrice(model: UsableModel, draft: Draft): number | undefined {
  const { price } = model;
  if (isChatPrice(price) || price.lines !== undefined || price.multipliers !== undefined) return undefined;
  const seconds = fitDraftToModel(draft, model).draft.seconds ?? controlsFor(model).seconds?.default;
  return seconds === undefined ? undefined : priceMedia(price, { seconds, factors: {} }).quota;
}

/** The request of a form that is not complete yet: a price needs neither the words nor the pictures themselves. */
function quotedBody(model: UsableModel, draft: Draft): VideoBody | undefined {
  const missing = Math.max(0, controlsFor(model).pictures.min - draft.pictures.length);
  const placeholders = Array.from({ length: missing }, () => ({ src: 'https://pictures.invalid/0.png', name: '' }));
  try {
    return toModelBody(
      { ...draft, prompt: draft.prompt.trim() || 'video', pictures: [...draft.pictures, ...placeholders] },
      model,
    );
  } catch {
    return undefined;
  }
}
