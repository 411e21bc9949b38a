import { ActionIcon } from '@mantine/core';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useFavouriteVideos, useSetFavouriteVideo } from '../data/favourite-videos.ts';
import { toErrorMessage } from './error-alert.tsx';
import { useToasts } from './toasts.tsx';

/** Shows whether a video is a favourite, and toggles it. */
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
