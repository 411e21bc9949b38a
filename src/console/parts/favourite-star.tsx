import { ActionIcon, Tooltip } from '@mantine/core';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useFavourites, useSetFavourite } from '../data/favourites.ts';
import { toMessage } from './failure.tsx';
import { useNotices } from './notices.tsx';

/** Says whether a video is a favourite, and changes it. */
export function FavouriteStar({ id }: { readonly id: string }) {
  const { t } = useTranslation(['studio', 'shell']);
  const notices = useNotices();
  const favourites = useFavourites();
  const set = useSetFavourite((error) => notices.failed(toMessage(error, t('shell:unreachable'))));
  const starred = favourites?.includes(id) === true;
  return (
    <Tooltip label={t(starred ? 'unfavourite' : 'favourite')}>
      <ActionIcon
        aria-label={t('favourite')}
        aria-pressed={starred}
        disabled={favourites === undefined}
        color={starred ? 'ember' : 'gray'}
        onClick={() => set.mutate({ id, starred: !starred })}
      >
        {starred ? <IconStarFilled size={16} /> : <IconStar size={17} />}
      </ActionIcon>
    </Tooltip>
  );
}
