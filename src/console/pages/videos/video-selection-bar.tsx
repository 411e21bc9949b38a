import { Button, Group, Text } from '@mantine/core';
import { IconDownload, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { toErrorMessage } from '../../components/error-alert.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { downloadVideos } from '../../data/download-video.ts';
import { deleteVideo, type Video } from '../../data/video-queries.ts';
import type { Selection } from './use-video-selection.ts';

interface SelectionBarProps {
  readonly selection: Selection;
  readonly selected: readonly Video[];
  /** Videos on the screen. */
  readonly shown: readonly Video[];
}

/** What can be done with the chosen videos; stays in sight while they are chosen. */
export function VideoSelectionBar({ selection, selected, shown }: SelectionBarProps) {
  const { t } = useTranslation(['studio', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const finished = selected.filter(({ status }) => isTerminal(status));
  const downloadable = selected.filter(({ status }) => status === 'SUCCESS').map(({ task_id: id }) => id);
  const save = useMutation({
    mutationFn: () => downloadVideos(queries, downloadable),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const remove = async (): Promise<void> => {
    try {
      for (const video of finished) {
        await deleteVideo(video.task_id);
        selection.remove([video]);
      }
    } finally {
      for (const list of ['list', 'favourites']) await queries.invalidateQueries({ queryKey: ['videos', list] });
    }
    toasts.success(t('deletedMany', { count: finished.length }));
    selection.stop();
  };
  return (
    <Group className="selection-bar" role="region" aria-label={t('select')} justify="space-between" gap="xs">
      <Group gap="xs">
        <Text size="sm" fw={600} role="status">
          {t('chosen', { count: selected.length })}
        </Text>
        <Button variant="subtle" size="compact-sm" onClick={() => selection.add(shown)}>
          {t('choosePage')}
        </Button>
      </Group>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          leftSection={<IconDownload size={16} />}
          disabled={downloadable.length === 0}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          {t('downloadMany', { count: downloadable.length })}
        </Button>
        <ConfirmDialog
          title={t('deleteManyTitle', { count: finished.length })}
          confirmLabel={t('deleteMany', { count: finished.length })}
          onConfirm={remove}
          trigger={(open) => (
            <Button
              variant="default"
              size="xs"
              leftSection={<IconTrash size={16} />}
              disabled={finished.length === 0}
              onClick={open}
            >
              {t('deleteMany', { count: finished.length })}
            </Button>
          )}
        >
          {t('deleteManyText')}
          {finished.length < selected.length
            ? ` ${t('unfinishedStay', { count: selected.length - finished.length })}`
            : ''}
        </ConfirmDialog>
        <Button size="xs" onClick={selection.stop}>
          {t('selectDone')}
        </Button>
      </Group>
    </Group>
  );
}
