import { ActionIcon, Button, Group, Menu, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useOpenedOnMount } from '../../components/lazy-dropdown-button.tsx';
import { isComposing } from '../../components/shortcut-keys.ts';
import {
  type Draft,
  readSavedForms,
  removeSavedForm,
  type SavedDraft,
  type SavedFormList,
  saveDraft,
} from './draft.ts';

interface SavedMenuProps {
  readonly target: ReactElement;
  readonly draft: Draft;
  readonly onUse: (draft: Draft) => void;
}

/** Menu of templates saved from the form, and of recently replaced forms. */
export default function TemplatesAndDraftsMenu({ target, draft, onUse }: SavedMenuProps) {
  const { t } = useTranslation('studio');
  const [opened, setOpened] = useOpenedOnMount();
  const [name, setName] = useState('');
  const save = (): void => {
    saveDraft('templates', draft, name.trim());
    setName('');
    setOpened(false);
  };
  return (
    <Menu opened={opened} onChange={setOpened} width={320} position="bottom-start" trapFocus>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {opened ? (
          <>
            <SavedItems shelf="templates" onUse={onUse} />
            <SavedItems shelf="drafts" onUse={onUse} />
          </>
        ) : null}
        <Group gap="xs" p="xs" wrap="nowrap" align="flex-end">
          <TextInput
            flex={1}
            size="xs"
            label={t('templateName')}
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              event.stopPropagation();
              if (event.key === 'Enter' && !isComposing(event) && name.trim() !== '') save();
              if (event.key === 'Escape') setOpened(false);
            }}
          />
          <Button size="xs" variant="default" disabled={name.trim() === ''} onClick={save}>
            {t('templateSave')}
          </Button>
        </Group>
      </Menu.Dropdown>
    </Menu>
  );
}

function SavedItems({ shelf, onUse }: { readonly shelf: SavedFormList; readonly onUse: (draft: Draft) => void }) {
  const { t } = useTranslation('studio');
  const [saved, setSaved] = useState<readonly SavedDraft[]>(() => readSavedForms(shelf));
  if (saved.length === 0) return null;
  const remove = (name: string): void => {
    removeSavedForm(shelf, name);
    setSaved(readSavedForms(shelf));
  };
  return (
    <>
      <Menu.Label>{t(shelf)}</Menu.Label>
      {saved.map(({ name, draft }) => (
        <Group key={name} gap={0} wrap="nowrap">
          <Menu.Item onClick={() => onUse(draft)}>
            <Text size="sm" truncate maw={230}>
              {name}
            </Text>
          </Menu.Item>
          <ActionIcon aria-label={t('savedRemove', { name })} onClick={() => remove(name)}>
            <IconTrash size={15} />
          </ActionIcon>
        </Group>
      ))}
    </>
  );
}
