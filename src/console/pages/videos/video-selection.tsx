import { Button, Group, Text } from '@mantine/core';
import { IconDownload, IconFolderMinus, IconFolderPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { toErrorMessage } from '../../components/error-alert.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { deleteVideo, downloadVideos, setMembership, type Video } from '../../data/videos.ts';

const CollectionDialog = lazy(async () => ({
  default: (await import('../../components/collections.tsx')).CollectionDialog,
}));

interface SelectionBarProps {
  readonly selection: Selection;
  readonly selected: readonly Video[];
  /** Videos on the screen. */
  readonly shown: readonly Video[];
  /** The collection whose videos the page shows. */
  readonly collection: number | undefined;
}

/** Bulk actions for the selected videos; sticky while any video is selected. */
export function VideoSelectionBar({ selection, selected, shown, collection }: SelectionBarProps) {
  const { t } = useTranslation(['library', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const downloadable = selected.filter(({ status }) => status === 'SUCCESS').map(({ task_id: id }) => id);
  const save = useMutation({
    mutationFn: () => downloadVideos(queries, downloadable),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
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
        <CollectButtons selection={selection} selected={selected} collection={collection} />
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
        <DeleteButton selection={selection} selected={selected} />
        <Button size="xs" onClick={selection.stop}>
          {t('selectDone')}
        </Button>
      </Group>
    </Group>
  );
}

type ActionProps = Pick<SelectionBarProps, 'selection' | 'selected'>;

/** Adds the selected videos to collections, or removes them from the one shown. */
function CollectButtons({ selection, selected, collection }: ActionProps & Pick<SelectionBarProps, 'collection'>) {
  const { t } = useTranslation(['studio', 'library', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const [isCollecting, setCollecting] = useState(false);
  const taskIds = selected.map((each) => each.task_id);
  const uncollect = useMutation({
    mutationFn: (id: number) => setMembership(id, taskIds, false),
    onSuccess: () => {
      selection.stop();
      return Promise.all(
        ['list', 'collections'].map((part) => queries.invalidateQueries({ queryKey: ['videos', part] })),
      );
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const common = { variant: 'default', size: 'xs', disabled: selected.length === 0 };
  return (
    <>
      <Button {...common} leftSection={<IconFolderPlus size={16} />} onClick={() => setCollecting(true)}>
        {t('collect')}
      </Button>
      {collection === undefined ? null : (
        <Button
          {...common}
          leftSection={<IconFolderMinus size={16} />}
          loading={uncollect.isPending}
          onClick={() => uncollect.mutate(collection)}
        >
          {t('library:uncollect')}
        </Button>
      )}
      {isCollecting ? (
        <Suspense>
          <CollectionDialog taskIds={taskIds} onClose={() => setCollecting(false)} />
        </Suspense>
      ) : null}
    </>
  );
}

/** Deletes the selected videos that have ended. */
function DeleteButton({ selection, selected }: ActionProps) {
  const { t } = useTranslation('library');
  const queries = useQueryClient();
  const toasts = useToasts();
  const finished = selected.filter(({ status }) => isTerminal(status));
  const remove = async (): Promise<void> => {
    try {
      for (const video of finished) {
        await deleteVideo(video.task_id);
        selection.remove([video]);
      }
    } finally {
      for (const list of ['list', 'favourites', 'collections'])
        await queries.invalidateQueries({ queryKey: ['videos', list] });
    }
    toasts.success(t('deletedMany', { count: finished.length }));
    selection.stop();
  };
  return (
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
      {finished.length < selected.length ? ` ${t('unfinishedStay', { count: selected.length - finished.length })}` : ''}
    </ConfirmDialog>
  );
}

/** Videos selected for a bulk action, including those on other pages and outside the current filters. */
export interface Selection {
  /** Undefined: selection mode is off. */
  readonly videos: readonly Video[] | undefined;
  has(id: string): boolean;
  start(): void;
  stop(): void;
  toggle(video: Video): void;
  add(videos: readonly Video[]): void;
  remove(videos: readonly Video[]): void;
}

/** The videos selected on the page. */
export function useVideoSelection(): Selection {
  const [chosen, setChosen] = useState<readonly Video[]>();
  // Stable, so that a click renders only the cards that change.
  const toggle = useCallback(
    (video: Video) =>
      setChosen((all = []) => {
        const others = without(all, [video]);
        return others.length === all.length ? [...all, video] : others;
      }),
    [],
  );
  return {
    videos: chosen,
    has: (id) => chosen?.some(({ task_id: each }) => each === id) === true,
    start: () => setChosen([]),
    stop: () => setChosen(undefined),
    toggle,
    add: (videos) => setChosen((all) => [...without(all, videos), ...videos]),
    remove: (videos) => setChosen((all) => without(all, videos)),
  };
}

const without = (all: readonly Video[] = [], some: readonly Video[]) =>
  all.filter(({ task_id: id }) => !some.some(({ task_id: other }) => other === id));
