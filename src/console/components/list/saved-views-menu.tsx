import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useLocation } from '@tanstack/react-router';
import { cloneElement, type ReactElement, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { readUserId } from '../../data/browser-storage.ts';
import { useOpenedOnMount } from '../lazy-dropdown-button.tsx';
import type { ListFilters } from './use-list-filters.ts';

const MAX_NAME_LENGTH = 60;

interface SavedViewsMenuProps {
  readonly filters: ListFilters;
  readonly button: ReactElement<Record<string, unknown>>;
}

/** Menu of saved views: filters and sort of a list, stored under a name. */
export default function SavedViewsMenu({ filters, button }: SavedViewsMenuProps) {
  const { t } = useTranslation(['list', 'app']);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const { views, save, remove } = useSavedViews(path);
  const [opened, setOpened] = useOpenedOnMount();
  const [name, setName] = useState('');
  const canSave = Object.keys(filters.view).length > 0;
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={280} trapFocus>
      <Popover.Target>
        {cloneElement(button, { 'aria-expanded': opened, onClick: () => setOpened(!opened) })}
      </Popover.Target>
      <Popover.Dropdown aria-label={t('views.title')}>
        <Stack gap="xs">
          {views.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('views.none')}
            </Text>
          ) : null}
          {views.map((view) => (
            <Group key={view.name} gap={4} wrap="nowrap" justify="space-between">
              <Button
                variant="subtle"
                size="compact-sm"
                justify="flex-start"
                flex={1}
                miw={0}
                onClick={() => {
                  filters.show(view.search);
                  setOpened(false);
                }}
              >
                {view.name}
              </Button>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t('views.remove', { name: view.name })}
                onClick={() => remove(view.name)}
              >
                <IconTrash size={15} />
              </ActionIcon>
            </Group>
          ))}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              save({ name: name.trim(), search: filters.view });
              setName('');
            }}
          >
            <Group gap="xs" align="flex-end" wrap="nowrap">
              <TextInput
                flex={1}
                size="xs"
                label={t('views.name')}
                description={canSave ? undefined : t('views.nothingToSave')}
                disabled={!canSave}
                maxLength={MAX_NAME_LENGTH}
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <Button type="submit" size="xs" disabled={!canSave || name.trim() === ''}>
                {t('app:save')}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A named view of a list: filters and sort, by their names in the URL. */
interface SavedView {
  readonly name: string;
  readonly search: Readonly<Record<string, string | number | boolean | undefined>>;
}

type ViewsByPath = Readonly<Record<string, readonly SavedView[]>>;

const MAX_VIEWS = 20;
const NONE: readonly SavedView[] = [];
const listeners = new Set<() => void>();
let cached: { readonly text: string | null; readonly views: ViewsByPath } = { text: null, views: {} };

/** Stored per account in this browser; views are shared with others by URL. */
const storageKey = (): string => `reelgate.views.${readUserId() ?? 0}`;

function readViews(): ViewsByPath {
  const text = localStorage.getItem(storageKey());
  if (text !== cached.text) cached = { text, views: parseViews(text) };
  return cached.views;
}

function parseViews(text: string | null): ViewsByPath {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? (parsed as ViewsByPath) : {};
  } catch {
    return {};
  }
}

function storeViews(path: string, views: readonly SavedView[]): void {
  localStorage.setItem(storageKey(), JSON.stringify({ ...readViews(), [path]: views }));
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
};

/**
 * Saved views of the list at a path. Saving replaces a view of the same name; above the limit the oldest are dropped.
 */
function useSavedViews(path: string) {
  const views = useSyncExternalStore(subscribe, () => readViews()[path] ?? NONE);
  const without = (name: string) => views.filter((view) => view.name !== name);
  return {
    views,
    save: (view: SavedView) => storeViews(path, [...without(view.name), view].slice(-MAX_VIEWS)),
    remove: (name: string) => storeViews(path, without(name)),
  };
}
