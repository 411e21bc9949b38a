import { Box, Kbd, Modal, ScrollArea, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isAdmin, useSelf } from '../data/self.ts';
import { useReturnFocus } from './dialog.tsx';
import { type CommandPaletteGroup, type CommandPaletteItem, useCommandPaletteItems } from './palette-items.ts';
import { withMod } from './shortcut-keys.ts';

/**
 * Search over pages, actions, users, models and tasks, operable by keyboard alone (ARIA Authoring Practices: combobox
 * with a listbox).
 */
export default function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  useReturnFocus();
  const { t } = useTranslation('command-palette');
  const admin = isAdmin(useSelf().data?.role);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const groups = useCommandPaletteItems(search);
  const items = groups.flatMap((group) => group.items);
  const current = Math.min(active, items.length - 1);
  const listId = useId();
  const optionId = (index: number): string => `${listId}-${index}`;
  const list = useScrolledIntoView(optionId(current));
  const open = (item: CommandPaletteItem): void => {
    onClose();
    item.open();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const chosen = items[current];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && items.length > 0) setActive((current + step + items.length) % items.length);
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing && chosen !== undefined) open(chosen);
    else return;
    event.preventDefault();
  };
  let index = -1;
  return (
    <Modal.Root opened onClose={onClose} size="lg" yOffset="10dvh">
      <Modal.Overlay />
      <Modal.Content aria-label={t('title')}>
        <TextInput
          data-autofocus
          variant="unstyled"
          size="md"
          px="md"
          leftSection={<IconSearch size={18} />}
          leftSectionWidth={28}
          placeholder={t(admin ? 'placeholderAdmin' : 'placeholder')}
          aria-label={t('title')}
          role="combobox"
          aria-expanded={items.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={items.length > 0 ? optionId(current) : undefined}
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
        <ScrollArea.Autosize mah="60dvh" className="palette-results">
          <div id={listId} role="listbox" aria-label={t('title')} ref={list}>
            {groups.map((group) => (
              // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of options
              <div key={group.id} role="group" aria-label={t(`groups.${group.id}`)}>
                <GroupTitle id={group.id} />
                {group.items.map((item) => {
                  index += 1;
                  const own = index;
                  return (
                    <PaletteOption
                      key={item.id}
                      id={optionId(own)}
                      item={item}
                      isActive={own === current}
                      onOpen={() => open(item)}
                      onPoint={() => setActive(own)}
                    />
                  );
                })}
              </div>
            ))}
          </div>
          {items.length === 0 ? <NothingFound search={search} /> : null}
        </ScrollArea.Autosize>
        <KeyHint />
      </Modal.Content>
    </Modal.Root>
  );
}

interface PaletteOptionProps {
  readonly id: string;
  readonly item: CommandPaletteItem;
  readonly isActive: boolean;
  readonly onOpen: () => void;
  readonly onPoint: () => void;
}

function PaletteOption({ id, item, isActive, onOpen, onPoint }: PaletteOptionProps) {
  return (
    <Box
      id={id}
      role="option"
      aria-selected={isActive}
      className="palette-option"
      onClick={onOpen}
      onMouseMove={onPoint}
    >
      <Text size="sm" truncate flex={1}>
        {item.label}
      </Text>
      <Text size="xs" c="dimmed" truncate maw="40%">
        {item.hint ?? ''}
      </Text>
    </Box>
  );
}

function NothingFound({ search }: { readonly search: string }) {
  const { t } = useTranslation('command-palette');
  return (
    <Text size="sm" c="dimmed" p="md" role="status">
      {t('none', { search })}
    </Text>
  );
}

function KeyHint() {
  const { t } = useTranslation('command-palette');
  return (
    <Text size="xs" c="dimmed" px="md" py="xs" visibleFrom="sm">
      {t('hint')} · <Kbd size="xs">{withMod('K')}</Kbd>
    </Text>
  );
}

function GroupTitle({ id }: { readonly id: CommandPaletteGroup['id'] }) {
  const { t } = useTranslation('command-palette');
  return (
    <Text size="xs" c="dimmed" fw={600} px="md" pt="sm" pb={4} aria-hidden>
      {t(`groups.${id}`)}
    </Text>
  );
}

/** Scrolls the given option into view. @returns the ref for the list */
function useScrolledIntoView(optionId: string): RefObject<HTMLDivElement | null> {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(`[id="${optionId}"]`)?.scrollIntoView({ block: 'nearest' });
  });
  return list;
}
