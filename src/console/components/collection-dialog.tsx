import { Button, Checkbox, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Collection } from '../../contract/collections.ts';
import { collectionsQuery, createCollection, setMembership } from '../data/collections.ts';
import { Dialog } from './dialog.tsx';
import { ErrorAlert } from './error-alert.tsx';

interface CollectionDialogProps {
  readonly taskIds: readonly string[];
  readonly onClose: () => void;
}

/**
 * Chooses the collections of one or several videos. Each checkbox is saved immediately; lists of videos are fetched
 * again at the end, as the video whose dialog this is may leave them.
 */
export default function CollectionDialog({ taskIds, onClose }: CollectionDialogProps) {
  const { t } = useTranslation('collections');
  const queries = useQueryClient();
  const collections = useQuery(collectionsQuery(taskIds.length === 1 ? taskIds[0] : undefined));
  // The API reports collections of a single video only. For several videos, checkboxes show the changes made in this dialog.
  const [chosen, setChosen] = useState<Readonly<Record<number, boolean>>>({});
  const refetch = (part: 'collections' | 'list') => queries.invalidateQueries({ queryKey: ['videos', part] });
  const close = (): void => {
    onClose();
    if (Object.keys(chosen).length > 0) void refetch('list');
  };
  const set = useMutation({
    mutationFn: async ({ id, isMember }: { readonly id: number; readonly isMember: boolean }) => {
      setChosen((known) => ({ ...known, [id]: isMember }));
      await setMembership(id, taskIds, isMember);
    },
    onError: (_error, { id, isMember }) => setChosen((known) => ({ ...known, [id]: !isMember })),
    onSettled: () => refetch('collections'),
  });
  return (
    <Dialog title={t('title', { count: taskIds.length })} onClose={close}>
      <Stack>
        {collections.data === undefined && collections.error === null ? <Skeleton h={80} radius="md" /> : null}
        {collections.data?.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('none')}
          </Text>
        ) : null}
        <Stack gap="xs" role="group" aria-label={t('collections')}>
          {(collections.data ?? []).map((collection) => (
            <Checkbox
              key={collection.id}
              label={collection.name}
              description={t('videos', { count: collection.videos })}
              checked={isChecked(collection, chosen)}
              disabled={set.isPending}
              onChange={({ currentTarget: { checked } }) => set.mutate({ id: collection.id, isMember: checked })}
            />
          ))}
        </Stack>
        <ErrorAlert error={collections.error ?? set.error} />
        <NewCollection onCreated={(id) => set.mutateAsync({ id, isMember: true })} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('done')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

const isChecked = ({ id, contains = false }: Collection, chosen: Readonly<Record<number, boolean>>): boolean =>
  chosen[id] ?? contains;

/** Creates a collection with the videos. */
function NewCollection({ onCreated }: { readonly onCreated: (id: number) => Promise<unknown> }) {
  const { t } = useTranslation('collections');
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: async () => onCreated(await createCollection(name.trim())),
    onSuccess: () => setName(''),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <Group align="flex-end" wrap="nowrap" gap="xs">
        <TextInput
          flex={1}
          label={t('newName')}
          maxLength={80}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        <Button type="submit" variant="default" loading={create.isPending} disabled={name.trim() === ''}>
          {t('create')}
        </Button>
      </Group>
      <ErrorAlert error={create.error} />
    </form>
  );
}
