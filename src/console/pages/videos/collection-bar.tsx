import { Button, Group, Text, TextInput } from '@mantine/core';
import { IconFolder, IconPencil, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Collection } from '../../../contract/collections.ts';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { collectionsQuery, deleteCollection, renameCollection } from '../../data/collections.ts';

interface CollectionBarProps {
  readonly id: number;
  readonly onDeleted: () => void;
}

/** Name and actions of the collection whose videos the page shows. */
export default function CollectionBar({ id, onDeleted }: CollectionBarProps) {
  const { t } = useTranslation('collections');
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
        {t('videos', { count: collection.videos })}
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPencil size={15} />}
        onClick={() => setRenaming(true)}
      >
        {t('rename')}
      </Button>
      <ConfirmDialog
        title={t('deleteTitle', { name: collection.name })}
        confirmLabel={t('delete')}
        onConfirm={remove}
        trigger={(open) => (
          <Button size="compact-sm" variant="default" color="red" leftSection={<IconTrash size={15} />} onClick={open}>
            {t('delete')}
          </Button>
        )}
      >
        {t('deleteText')}
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
  const { t } = useTranslation('collections');
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
      title={t('renameTitle')}
      submitLabel={t('rename')}
      save={save}
      disabled={name.trim() === ''}
      onClose={onClose}
    >
      <TextInput
        label={t('name')}
        maxLength={80}
        data-autofocus
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
    </FormDialog>
  );
}
