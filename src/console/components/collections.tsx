import { Button, Checkbox, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { IconFolder, IconPencil, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Collection } from '../../contract/own-videos.ts';
import {
  collectionsQuery,
  createCollection,
  deleteCollection,
  renameCollection,
  setMembership,
} from '../data/videos.ts';
import { ConfirmDialog, Dialog, FormDialog } from './dialog.tsx';
import { ErrorAlert } from './error-alert.tsx';

interface CollectionDialogProps {
  readonly taskIds: readonly string[];
  readonly onClose: () => void;
}

/**
 * Chooses the collections of one or several videos. Each checkbox is saved immediately; lists of videos are fetched
 * again at the end, as the video whose dialog this is may leave them.
 */
export function CollectionDialog({ taskIds, onClose }: CollectionDialogProps) {
  const { t } = useTranslation('videos');
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
    <Dialog title={t('collections.title', { count: taskIds.length })} onClose={close}>
      <Stack>
        {collections.data === undefined && collections.error === null ? <Skeleton h={80} radius="md" /> : null}
        {collections.data?.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('collections.none')}
          </Text>
        ) : null}
        <Stack gap="xs" role="group" aria-label={t('collections.collections')}>
          {(collections.data ?? []).map((collection) => (
            <Checkbox
              key={collection.id}
              label={collection.name}
              description={t('collections.videos', { count: collection.videos })}
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
            {t('collections.done')}
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
  const { t } = useTranslation('videos');
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
          label={t('collections.newName')}
          maxLength={80}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        <Button type="submit" variant="default" loading={create.isPending} disabled={name.trim() === ''}>
          {t('collections.create')}
        </Button>
      </Group>
      <ErrorAlert error={create.error} />
    </form>
  );
}

interface CollectionBarProps {
  readonly id: number;
  readonly onDeleted: () => void;
}

/** Name and actions of the collection whose videos the page shows. */
export function CollectionBar({ id, onDeleted }: CollectionBarProps) {
  const { t } = useTranslation('videos');
  const queries = useQueryClient();
  const { data } = useQuery(collectionsQuery());
  const [isRenaming, setRenaming] = useState(false);
  const collection = data?.find((each) => each.id === id);
  if (collection === undefined) return null;
  const remove = async (): Promise<void> => {
    await deleteCollection(id);
    onDeleted();
    await queries.invalidateQueries({ queryKey: ['videos', 'collections'] });
  };
  return (
    <Group mb="md" gap="xs">
      <IconFolder size={18} aria-hidden />
      <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
        {collection.name}
      </Text>
      <Text size="sm" c="dimmed">
        {t('collections.videos', { count: collection.videos })}
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPencil size={15} />}
        onClick={() => setRenaming(true)}
      >
        {t('collections.rename')}
      </Button>
      <ConfirmDialog
        title={t('collections.deleteTitle', { name: collection.name })}
        confirmLabel={t('collections.delete')}
        onConfirm={remove}
        trigger={(open) => (
          <Button size="compact-sm" variant="default" color="red" leftSection={<IconTrash size={15} />} onClick={open}>
            {t('collections.delete')}
          </Button>
        )}
      >
        {t('collections.deleteText')}
      </ConfirmDialog>
      {isRenaming ? <RenameDialog collection={collection} onClose={() => setRenaming(false)} /> : null}
    </Group>
  );
}

interface RenameDialogProps {
  readonly collection: Collection;
  readonly onClose: () => void;
}

function RenameDialog({ collection, onClose }: RenameDialogProps) {
  const { t } = useTranslation('videos');
  const queries = useQueryClient();
  const [name, setName] = useState(collection.name);
  const save = useMutation({
    mutationFn: () => renameCollection(collection.id, name.trim()),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['videos', 'collections'] });
      onClose();
    },
  });
  return (
    <FormDialog
      title={t('collections.renameTitle')}
      submitLabel={t('collections.rename')}
      save={save}
      disabled={name.trim() === ''}
      onClose={onClose}
    >
      <TextInput
        label={t('collections.name')}
        maxLength={80}
        data-autofocus
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
    </FormDialog>
  );
}
