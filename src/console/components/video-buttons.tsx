import { ActionIcon } from '@mantine/core';
import { IconFolderPlus, IconStar, IconStarFilled } from '@tabler/icons-react';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addFavourite, listFavourites, removeFavourite } from '../../contract/own-videos.ts';
import { callApi } from '../data/api-client.ts';
import type { VideoFilter } from '../data/videos.ts';
import { toErrorMessage } from './error-alert.tsx';
import { useToasts } from './toasts.tsx';

const CollectionDialog = lazy(async () => ({ default: (await import('./collections.tsx')).CollectionDialog }));

/** Opens the choice of the collections of a video. */
export function CollectButton({ id }: { readonly id: string }) {
  const { t } = useTranslation('studio');
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ActionIcon data-hint={t('collect')} aria-label={t('collect')} onClick={() => setOpen(true)}>
        <IconFolderPlus size={17} />
      </ActionIcon>
      {isOpen ? (
        <Suspense>
          <CollectionDialog taskIds={[id]} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}

/** Shows whether a video is a favourite; a click toggles it. */
export function FavouriteButton({ id }: { readonly id: string }) {
  const { t } = useTranslation(['studio', 'app']);
  const toasts = useToasts();
  const favourites = useFavouriteVideos();
  const set = useSetFavouriteVideo((error) => toasts.error(toErrorMessage(error, t('app:unreachable'))));
  const starred = favourites?.includes(id) === true;
  return (
    <ActionIcon
      data-hint={t(starred ? 'unfavourite' : 'favourite')}
      aria-label={t('favourite')}
      aria-pressed={starred}
      disabled={favourites === undefined}
      color={starred ? 'accent' : 'gray'}
      onClick={() => set.mutate({ id, starred: !starred })}
    >
      {starred ? <IconStarFilled size={16} /> : <IconStar size={17} />}
    </ActionIcon>
  );
}

const favouritesQuery = queryOptions({
  queryKey: ['videos', 'favourites'],
  queryFn: async ({ signal }) => (await callApi(listFavourites, {}, { signal })).data,
  staleTime: 60_000,
});

/** Task ids of the user's favourites; undefined while loading. */
const useFavouriteVideos = (): readonly string[] | undefined => useQuery(favouritesQuery).data;

/** Adds or removes a favourite with an optimistic update, which is rolled back if the service refuses. */
function useSetFavouriteVideo(onError: (error: unknown) => void) {
  const queries = useQueryClient();
  const setCached = (id: string, starred: boolean): void =>
    void queries.setQueryData(favouritesQuery.queryKey, (ids) => {
      const others = ids?.filter((each) => each !== id);
      return starred && others !== undefined ? [id, ...others] : others;
    });
  return useMutation({
    mutationFn: ({ id, starred }: { readonly id: string; readonly starred: boolean }) =>
      callApi(starred ? addFavourite : removeFavourite, { params: { task_id: id } }),
    onMutate: async ({ id, starred }) => {
      // A pending list request would overwrite the optimistic update.
      await queries.cancelQueries({ queryKey: favouritesQuery.queryKey });
      setCached(id, starred);
    },
    onError: (error, { id, starred }) => {
      setCached(id, !starred);
      onError(error);
    },
    // Only the list of favourites depends on the mark; refetching the others would be wasted.
    onSuccess: () =>
      queries.invalidateQueries({
        queryKey: ['videos', 'list'],
        predicate: ({ queryKey }) => (queryKey[4] as VideoFilter | undefined)?.favourite !== undefined,
      }),
  });
}
