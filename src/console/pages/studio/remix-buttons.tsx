import { ActionIcon, Button, Group } from '@mantine/core';
import {
  IconArrowBackUp,
  IconArrowsMaximize,
  IconArrowsShuffle,
  IconDownload,
  IconPhotoDown,
  IconPlayerTrackNext,
} from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { FavouriteButton } from '../../components/favourite-button.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { downloadVideo } from '../../data/download-video.ts';
import type { Video } from '../../data/video-queries.ts';

/** What can be made of a video; each fills the form, and nothing is started before the price was shown. */
export interface RemixActions {
  /** The same with another seed. */
  readonly vary: (taskId: string) => void;
  /** The same prompt and settings, to be changed. */
  readonly remix: (taskId: string) => void;
  /** The same settings, beginning where it ends. */
  readonly extend: (taskId: string) => void;
  /** Its end as the first picture of the form as it is. */
  readonly takeLastFrame: (taskId: string) => void;
}

export function RemixButtons({ video, actions }: { readonly video: Video; readonly actions: RemixActions }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const { task_id: id } = video;
  const finished = video.status === 'SUCCESS';
  return (
    <Group gap={4}>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconArrowBackUp size={15} />}
        aria-keyshortcuts="r"
        onClick={() => actions.remix(id)}
      >
        {t('reuse')}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconArrowsShuffle size={15} />}
        aria-keyshortcuts="v"
        onClick={() => actions.vary(id)}
      >
        {t('vary')}
      </Button>
      {finished ? (
        <>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlayerTrackNext size={15} />}
            aria-keyshortcuts="e"
            onClick={() => actions.extend(id)}
          >
            {t('extend')}
          </Button>
          <ActionIcon
            data-hint={t('takeLastFrame')}
            aria-label={t('takeLastFrame')}
            aria-keyshortcuts="l"
            onClick={() => actions.takeLastFrame(id)}
          >
            <IconPhotoDown size={17} />
          </ActionIcon>
          <ActionIcon
            data-hint={t('download')}
            aria-label={t('download')}
            onClick={() => void downloadVideo(queries, id).catch((error: Error) => toasts.error(error.message))}
          >
            <IconDownload size={17} />
          </ActionIcon>
        </>
      ) : null}
      <FavouriteButton id={id} />
      <ActionIcon
        data-hint={t('open')}
        aria-label={t('open')}
        renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: id }} {...props} />}
      >
        <IconArrowsMaximize size={16} />
      </ActionIcon>
    </Group>
  );
}
