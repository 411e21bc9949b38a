import { Button, Group, Text } from '@mantine/core';
import { IconDownload, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/states.ts';
import { saveVideos } from '../../data/downloads.ts';
import { deleteVideo, type VideoRow } from '../../data/videos.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { toMessage } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import type { Selection } from './use-selection.ts';

interface SelectionBarProps {
  readonly selection: Selection;
  readonly chosen: readonly VideoRow[];
  /** Videos on the screen. */
  readonly shown: readonly VideoRow[];
}

/** What can be done with the chosen videos; stays in sight while they are chosen. */
export function SelectionBar({ selection, chosen, shown }: SelectionBarProps) {
  const { t } = useTranslation(['studio', 'shell']);
  const queries = useQueryClient();
  const notices = useNotices();
  const finished = chosen.filter(({ status }) => isTerminal(status));
  const made = chosen.filter(({ status }) => status === 'SUCCESS').map(({ task_id: id }) => id);
  const save = useMutation({
    mutationFn: () => saveVideos(queries, made),
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  const remove = async (): Promise<void> => {
    try {
      for (const video of finished) {
        await deleteVideo(video.task_id);
        selection.drop([video]);
      }
    } finally {
      for (const list of ['list', 'favourites']) await queries.invalidateQueries({ queryKey: ['videos', list] });
    }
    notices.done(t('deletedMany', { count: finished.length }));
    selection.end();
  };
  return (
    <Group className="selection-bar" role="region" aria-label={t('select')} justify="space-between" gap="xs">
      <Group gap="xs">
        <Text size="sm" fw={600} role="status">
          {t('chosen', { count: chosen.length })}
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
          disabled={made.length === 0}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          {t('downloadMany', { count: made.length })}
        </Button>
        <Confirm
          title={t('deleteManyTitle', { count: finished.length })}
          action={t('deleteMany', { count: finished.length })}
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
          {finished.length < chosen.length ? ` ${t('unfinishedStay', { count: chosen.length - finished.length })}` : ''}
        </Confirm>
        <Button size="xs" onClick={selection.end}>
          {t('selectDone')}
        </Button>
      </Group>
    </Group>
  );
}
